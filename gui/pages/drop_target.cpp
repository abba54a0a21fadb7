// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/drop_target.h"

#include <QDragEnterEvent>
#include <QMimeData>
#include <QPainter>
#include <QUrl>
#include <algorithm>

#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kInset_px = 12;

bool isLocal(const QMimeData& data) {
  const QList<QUrl> urls = data.urls();
  return !urls.isEmpty() && std::ranges::all_of(urls, &QUrl::isLocalFile);
}

}  // namespace

DropTarget::DropTarget(QWidget* page, const QString& sentence)
    : QWidget(page), m_sentence(sentence) {
  setAcceptDrops(true);
  page->setAcceptDrops(true);
  page->installEventFilter(this);
  hide();
}

bool DropTarget::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::DragEnter: {
      auto* drag = static_cast<QDragEnterEvent*>(event);
      if (!isLocal(*drag->mimeData())) break;
      drag->acceptProposedAction();
      setGeometry(parentWidget()->rect());
      raise();
      show();
      return true;
    }
    case QEvent::Drop:
      dropEvent(static_cast<QDropEvent*>(event));
      return true;
    default:
      break;
  }
  return QWidget::eventFilter(watched, event);
}

void DropTarget::dragEnterEvent(QDragEnterEvent* event) {
  if (isLocal(*event->mimeData())) event->acceptProposedAction();
}

void DropTarget::dragLeaveEvent(QDragLeaveEvent*) {
  hide();
}

void DropTarget::dropEvent(QDropEvent* event) {
  hide();
  if (!isLocal(*event->mimeData())) return;
  event->acceptProposedAction();
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls())
    paths << url.toLocalFile();
  emit dropped(paths);
}

void DropTarget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor veil = theme().background;
  veil.setAlphaF(0.9);
  painter.fillRect(rect(), veil);
  QPen pen(theme().accent, 2);
  pen.setDashPattern({4, 3});
  painter.setPen(pen);
  painter.drawRoundedRect(QRectF(rect()).adjusted(kInset_px, kInset_px, -kInset_px, -kInset_px), 8,
                          8);
  painter.setPen(theme().text);
  painter.setFont(themedFont(FontRole::title));
  painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, m_sentence);
}

}  // namespace athanor
