// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme.h"

namespace athanor {
namespace {

struct Ink {
  const char* colour;
  const char* label;
};

/// The line patterns are the same in both appearances.
std::array<Series, kSeriesCount> seriesOf(const std::array<Ink, kSeriesCount>& inks) {
  const std::array<QVector<qreal>, kSeriesCount> dashes = {
      {{}, {7, 4}, {2, 3}, {9, 3, 2, 3}, {1, 4}, {12, 4}, {5, 2, 1, 2}, {}}};
  std::array<Series, kSeriesCount> series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    series[i].colour = QColor(inks[i].colour);
    series[i].label = QColor(inks[i].label);
    series[i].dashes = dashes[i];
  }
  series[kSeriesCount - 1].width_px = 1.2;
  return series;
}

Theme darkTheme() {
  Theme t;
  t.appearance = Appearance::dark;
  t.background = QColor("#16181d");
  t.surface = QColor("#1e2128");
  t.raised = QColor("#272b34");
  t.border = QColor("#3a404c");
  t.edge = QColor("#717a89");
  t.grid = QColor("#2b303a");
  t.text = QColor("#e8eaee");
  t.muted = QColor("#a3abb8");
  t.accent = QColor("#ff9f45");
  t.onAccent = QColor("#1b1206");
  t.accentHover = QColor("#ffa958");
  t.success = QColor("#5fce8f");
  t.warning = QColor("#f2c14e");
  t.danger = QColor("#ff7b72");
  t.info = QColor("#7db4f0");
  t.series = seriesOf({{{"#d4842a", "#101216"},
                        {"#51a7fb", "#101216"},
                        {"#9ad7a3", "#101216"},
                        {"#875ed3", "#ffffff"},
                        {"#ca4859", "#ffffff"},
                        {"#24f3ff", "#101216"},
                        {"#dcd42e", "#101216"},
                        {"#a2a3a5", "#101216"}}});
  return t;
}

Theme lightTheme() {
  Theme t;
  t.appearance = Appearance::light;
  t.background = QColor("#f5f6f8");
  t.surface = QColor("#ffffff");
  t.raised = QColor("#eceef2");
  t.border = QColor("#c9ced8");
  t.edge = QColor("#7d8694");
  t.grid = QColor("#e3e6ec");
  t.text = QColor("#1b1f27");
  t.muted = QColor("#59626f");
  t.accent = QColor("#a84a06");
  t.onAccent = QColor("#ffffff");
  t.accentHover = QColor("#974305");
  t.success = QColor("#176f3f");
  t.warning = QColor("#7a5300");
  t.danger = QColor("#b42318");
  t.info = QColor("#1f5fa8");
  t.series = seriesOf({{{"#a84a06", "#ffffff"},
                        {"#2862aa", "#ffffff"},
                        {"#174c1c", "#ffffff"},
                        {"#5b0488", "#ffffff"},
                        {"#8b2953", "#ffffff"},
                        {"#1b95aa", "#101216"},
                        {"#818f2b", "#101216"},
                        {"#6c6d73", "#ffffff"}}});
  return t;
}

}  // namespace

const Theme& themeFor(Appearance appearance) {
  static const Theme dark = darkTheme();
  static const Theme light = lightTheme();
  return appearance == Appearance::dark ? dark : light;
}

}  // namespace athanor
