// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme.h"

#include <QApplication>
#include <QFile>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "widgets/focus_ring.h"
#include "widgets/theme_notifier.h"
#include "widgets/wheel_guard.h"

// Outside the namespace: the macro declares a global function of the resource's object file.
static void initialiseResources() {
  Q_INIT_RESOURCE(widgets);
}

namespace athanor {
namespace {

Appearance g_appearance = Appearance::light;

constexpr double kDisabledShare = 0.55;

QPalette paletteOf(const Theme& t) {
  QPalette p;
  p.setColor(QPalette::Window, t.background);
  p.setColor(QPalette::WindowText, t.text);
  p.setColor(QPalette::Base, t.appearance == Appearance::dark ? t.background : t.surface);
  p.setColor(QPalette::AlternateBase, t.surface);
  p.setColor(QPalette::Text, t.text);
  p.setColor(QPalette::PlaceholderText, t.muted);
  p.setColor(QPalette::Button, t.appearance == Appearance::dark ? t.raised : t.surface);
  p.setColor(QPalette::ButtonText, t.text);
  p.setColor(QPalette::BrightText, t.danger);
  p.setColor(QPalette::Highlight, mixed(t.accent, t.surface, 0.35));
  p.setColor(QPalette::HighlightedText, t.text);
  p.setColor(QPalette::ToolTipBase, t.raised);
  p.setColor(QPalette::ToolTipText, t.text);
  p.setColor(QPalette::Link, t.accent);
  p.setColor(QPalette::LinkVisited, t.accent);
  p.setColor(QPalette::Light, t.raised);
  p.setColor(QPalette::Midlight, t.grid);
  p.setColor(QPalette::Mid, t.border);
  p.setColor(QPalette::Dark, t.edge);
  p.setColor(QPalette::Shadow, t.border);
  const QColor off = mixed(t.text, t.surface, kDisabledShare);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    p.setColor(QPalette::Disabled, role, off);
  }
  return p;
}

struct Token {
  QString name;
  QString value;
};

QVector<Token> tokensOf(const Theme& t) {
  const bool dark = t.appearance == Appearance::dark;
  const auto faded = [&](const QColor& c) { return mixed(c, t.surface, kDisabledShare).name(); };
  return {{"@background", t.background.name()},
          {"@surface", t.surface.name()},
          {"@raised", t.raised.name()},
          {"@border", t.border.name()},
          {"@edge", t.edge.name()},
          {"@grid", t.grid.name()},
          {"@text", t.text.name()},
          {"@muted", t.muted.name()},
          {"@accent", t.accent.name()},
          {"@hover-accent", t.accentHover.name()},
          {"@on-accent", t.onAccent.name()},
          {"@success", t.success.name()},
          {"@warning", t.warning.name()},
          {"@danger", t.danger.name()},
          {"@info", t.info.name()},
          {"@input", (dark ? t.background : t.surface).name()},
          {"@button", (dark ? t.raised : t.surface).name()},
          {"@hover-button", (dark ? mixed(t.text, t.raised, 0.08) : t.raised).name()},
          {"@frame", (dark ? t.border : t.edge).name()},
          {"@selected", mixed(t.accent, t.surface, dark ? 0.14 : 0.10).name()},
          {"@off-text", faded(t.text)},
          {"@off-accent", faded(t.accent)},
          {"@off-on-accent", faded(t.onAccent)},
          {"@off-edge", faded(t.edge)},
          {"@scheme", dark ? "dark" : "light"}};
}

QString styleSheetOf(const Theme& t) {
  QFile file(":/athanor/theme.qss");
  if (!file.open(QIODevice::ReadOnly)) return {};
  QString sheet = QString::fromUtf8(file.readAll());
  QVector<Token> tokens = tokensOf(t);
  // Longest first, so that "@text" does not eat the head of a longer name.
  std::sort(tokens.begin(), tokens.end(),
            [](const Token& a, const Token& b) { return a.name.size() > b.name.size(); });
  for (const Token& token : tokens)
    sheet.replace(token.name, token.value);
  return sheet;
}

double linear(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c) {
  return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

}  // namespace

ThemeNotifier& ThemeNotifier::instance() {
  static ThemeNotifier notifier;
  return notifier;
}

const Theme& theme() {
  return themeFor(g_appearance);
}

void applyTheme(QApplication& app, Appearance appearance) {
  initialiseResources();
  g_appearance = appearance;
  static const QApplication* prepared = nullptr;
  if (prepared != &app) {
    prepared = &app;
    QApplication::setStyle(QStyleFactory::create("Fusion"));
    app.installEventFilter(new WheelGuard(&app));
    new FocusRing(&app);
  }
  QApplication::setPalette(paletteOf(theme()));
  QApplication::setFont(themedFont(FontRole::body));
  app.setStyleSheet(styleSheetOf(theme()));
  emit ThemeNotifier::instance().changed();
  for (QWidget* widget : QApplication::allWidgets())
    widget->update();
}

Appearance systemAppearance() {
  static const Appearance system =
      QApplication::palette().color(QPalette::Window).lightnessF() < 0.5 ? Appearance::dark
                                                                         : Appearance::light;
  return system;
}

QFont themedFont(FontRole role) {
  static const QFont base = QApplication::font();
  QFont font = base;
  font.setWeight(QFont::Normal);
  const auto set = [&](int size_px, bool emphasised) {
    font.setPixelSize(size_px);
    if (emphasised) font.setWeight(QFont::DemiBold);
  };
  switch (role) {
    case FontRole::title:
      set(20, true);
      break;
    case FontRole::firstRun:
      set(28, true);
      break;
    case FontRole::figure:
      set(22, true);
      break;
    case FontRole::figureSmall:
      set(18, true);
      break;
    case FontRole::emphasis:
      set(13, true);
      break;
    case FontRole::note:
      set(12, false);
      break;
    case FontRole::axis:
      set(11, false);
      break;
    case FontRole::body:
    case FontRole::chat:
      set(13, false);
      break;
  }
  return font;
}

QColor toneColour(Tone tone) {
  const Theme& t = theme();
  switch (tone) {
    case Tone::text:
      return t.text;
    case Tone::muted:
      return t.muted;
    case Tone::accent:
      return t.accent;
    case Tone::onAccent:
      return t.onAccent;
    case Tone::success:
      return t.success;
    case Tone::warning:
      return t.warning;
    case Tone::danger:
      return t.danger;
    case Tone::info:
      return t.info;
  }
  return t.text;
}

const Series& seriesStyle(int number) {
  const int index = ((number - 1) % kSeriesCount + kSeriesCount) % kSeriesCount;
  return theme().series[static_cast<std::size_t>(index)];
}

QColor mixed(const QColor& over, const QColor& under, double share) {
  const auto channel = [share](int a, int b) {
    return static_cast<int>(std::lround(a * share + b * (1 - share)));
  };
  return {channel(over.red(), under.red()), channel(over.green(), under.green()),
          channel(over.blue(), under.blue())};
}

QColor selectedTint() {
  const Theme& t = theme();
  return mixed(t.accent, t.surface, t.appearance == Appearance::dark ? 0.14 : 0.10);
}

QColor bannerTint(const QColor& colour) {
  return mixed(colour, theme().surface, 0.08);
}

double contrastRatio(const QColor& a, const QColor& b) {
  const double la = luminance(a);
  const double lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

}  // namespace athanor
