// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/icons.h"

#include <QDir>
#include <QFile>
#include <QHash>
#include <QIconEngine>
#include <QPainter>
#include <QPixmap>
#include <QPixmapCache>
#include <QSvgRenderer>
#include <algorithm>
#include <cmath>
#include <optional>

static void initialiseIconResources() {
  Q_INIT_RESOURCE(widgets);
}

namespace athanor {
namespace {

constexpr double kGrid_px = 20;
constexpr double kStroke_px = 1.6;
constexpr double kDisabledOpacity = 0.55;

QByteArray sourceOf(const QString& name) {
  static QHash<QString, QByteArray> sources;
  const auto known = sources.constFind(name);
  if (known != sources.constEnd()) return *known;
  initialiseIconResources();
  QFile file(":/athanor/icons/" + name + ".svg");
  Q_ASSERT_X(file.exists(), "icon", qPrintable(name));
  const QByteArray source = file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  sources.insert(name, source);
  return source;
}

QPixmap rendered(const QString& name, const QColor& colour, int size_px, qreal ratio) {
  const QString key =
      QString("athanor/%1/%2/%3/%4").arg(name, colour.name()).arg(size_px).arg(ratio);
  QPixmap pixmap;
  if (QPixmapCache::find(key, &pixmap)) return pixmap;
  QByteArray source = sourceOf(name);
  // The stroke keeps its width in px whatever the size of the icon.
  const double stroke = kStroke_px * kGrid_px / std::max(1, size_px);
  source.replace("currentColor", colour.name().toLatin1());
  source.replace("stroke-width=\"1.6\"", "stroke-width=\"" + QByteArray::number(stroke) + "\"");
  QSvgRenderer renderer(source);
  const int side = static_cast<int>(std::lround(size_px * ratio));
  pixmap = QPixmap(side, side);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  renderer.render(&painter, QRectF(0, 0, side, side));
  painter.end();
  pixmap.setDevicePixelRatio(ratio);
  QPixmapCache::insert(key, pixmap);
  return pixmap;
}

/// Renders when it is painted, so that the colour is the theme's of that moment.
class IconEngine : public QIconEngine {
 public:
  IconEngine(QString name, Tone tone, std::optional<QColor> colour)
      : m_name(std::move(name)), m_tone(tone), m_colour(std::move(colour)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    const int side = std::min(rect.width(), rect.height());
    const QPoint corner(rect.x(), rect.y() + (rect.height() - side) / 2);
    const qreal opacity = painter->opacity();
    if (mode == QIcon::Disabled) painter->setOpacity(opacity * kDisabledOpacity);
    painter->drawPixmap(corner,
                        rendered(m_name, colour(), side, painter->device()->devicePixelRatioF()));
    painter->setOpacity(opacity);
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    return scaledPixmap(size, mode, state, 1);
  }

  /// `size` is in device pixels here. In a wide one the icon stands at the left: the rest is the
  /// gap to a button's text.
  QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state,
                       qreal scale) override {
    QPixmap pixmap(size);
    pixmap.setDevicePixelRatio(scale);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    const QSizeF logical = pixmap.deviceIndependentSize();
    paint(&painter, QRectF(QPointF(), logical).toRect(), mode, state);
    return pixmap;
  }

  QIconEngine* clone() const override { return new IconEngine(*this); }
  QString key() const override { return "athanor"; }

 private:
  QColor colour() const { return m_colour ? *m_colour : toneColour(m_tone); }

  QString m_name;
  Tone m_tone;
  std::optional<QColor> m_colour;
};

}  // namespace

QIcon icon(const QString& name, Tone tone) {
  return QIcon(new IconEngine(name, tone, {}));
}

QIcon icon(const QString& name, const QColor& colour) {
  return QIcon(new IconEngine(name, Tone::text, colour));
}

QStringList iconNames() {
  initialiseIconResources();
  QStringList names;
  for (const QString& file :
       QDir(":/athanor/icons").entryList({"*.svg"}, QDir::Files, QDir::Name)) {
    if (!file.startsWith("sheet-")) names << file.chopped(4);
  }
  return names;
}

}  // namespace athanor
