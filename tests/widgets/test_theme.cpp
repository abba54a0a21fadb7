// SPDX-License-Identifier: GPL-3.0-or-later
// Recomputes every figure of the design's colour tables from the theme in use.

#include <QApplication>
#include <QFile>
#include <QSignalSpy>
#include <QTest>
#include <array>
#include <cmath>

#include "widgets/icons.h"
#include "widgets/theme.h"
#include "widgets/theme_notifier.h"

using namespace athanor;

namespace {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<Vector3, 3>;

constexpr double kText = 4.5;
constexpr double kGraphics = 3.0;

double linear(double c) {
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

Vector3 times(const Matrix3& m, const Vector3& v) {
  Vector3 out{};
  for (int i = 0; i < 3; ++i)
    out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return out;
}

/// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB; the first row sees normally.
const std::array<Matrix3, 4>& visions() {
  static const std::array<Matrix3, 4> matrices = {{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                                   {{{0.152286, 1.052583, -0.204868},
                                                     {0.114503, 0.786281, 0.099216},
                                                     {-0.003882, -0.048116, 1.051998}}},
                                                   {{{0.367322, 0.860646, -0.227968},
                                                     {0.280085, 0.672501, 0.047413},
                                                     {-0.011820, 0.042940, 0.968881}}},
                                                   {{{1.255528, -0.076749, -0.178779},
                                                     {-0.078411, 0.930809, 0.147602},
                                                     {0.004733, 0.691367, 0.303900}}}}};
  return matrices;
}

Vector3 okLab(const QColor& colour, const Matrix3& vision) {
  Vector3 rgb =
      times(vision, {linear(colour.redF()), linear(colour.greenF()), linear(colour.blueF())});
  for (double& c : rgb)
    c = std::clamp(c, 0.0, 1.0);
  const Matrix3 toCones = {{{0.4122214708, 0.5363325363, 0.0514459929},
                            {0.2119034982, 0.6806995451, 0.1073969566},
                            {0.0883024619, 0.2817188376, 0.6299787005}}};
  const Matrix3 toLab = {{{0.2104542553, 0.7936177850, -0.0040720468},
                          {1.9779984951, -2.4285922050, 0.4505937099},
                          {0.0259040371, 0.7827717662, -0.8086757660}}};
  Vector3 cones = times(toCones, rgb);
  for (double& c : cones)
    c = std::cbrt(c);
  return times(toLab, cones);
}

double smallestDistance(const Theme& theme, const Matrix3& vision) {
  double smallest = 10;
  for (int a = 0; a < kSeriesCount; ++a) {
    for (int b = a + 1; b < kSeriesCount; ++b) {
      const Vector3 p = okLab(theme.series[a].colour, vision);
      const Vector3 q = okLab(theme.series[b].colour, vision);
      smallest = std::min(smallest, std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]));
    }
  }
  return smallest;
}

struct ColourRow {
  const char* name;
  QColor Theme::*colour;
  const char* dark;
  Vector3 darkContrast;
  const char* light;
  Vector3 lightContrast;
  double least;
};

const QVector<ColourRow>& colourRows() {
  static const QVector<ColourRow> rows = {
      {"edge", &Theme::edge, "#717a89", {4.1, 3.7, 3.3}, "#7d8694", {3.4, 3.7, 3.2}, kGraphics},
      {"text", &Theme::text, "#e8eaee", {14.7, 13.4, 11.8}, "#1b1f27", {15.3, 16.5, 14.2}, kText},
      {"muted", &Theme::muted, "#a3abb8", {7.7, 7.0, 6.1}, "#59626f", {5.7, 6.2, 5.3}, kText},
      {"accent", &Theme::accent, "#ff9f45", {8.7, 7.9, 7.0}, "#a84a06", {5.3, 5.8, 5.0}, kText},
      {"success", &Theme::success, "#5fce8f", {9.1, 8.2, 7.2}, "#176f3f", {5.7, 6.2, 5.3}, kText},
      {"warning", &Theme::warning, "#f2c14e", {10.6, 9.6, 8.4}, "#7a5300", {6.3, 6.9, 5.9}, kText},
      {"danger", &Theme::danger, "#ff7b72", {7.0, 6.4, 5.6}, "#b42318", {6.1, 6.6, 5.7}, kText},
      {"info", &Theme::info, "#7db4f0", {8.2, 7.4, 6.5}, "#1f5fa8", {6.0, 6.4, 5.5}, kText}};
  return rows;
}

struct SeriesRow {
  const char* dark;
  Vector3 darkContrast;
  double darkLabel;
  const char* light;
  Vector3 lightContrast;
  double lightLabel;
};

const std::array<SeriesRow, kSeriesCount>& seriesRows() {
  static const std::array<SeriesRow, kSeriesCount> rows = {
      {{"#d4842a", {6.0, 5.5, 4.8}, 6.4, "#a84a06", {5.3, 5.8, 5.0}, 5.8},
       {"#51a7fb", {7.0, 6.3, 5.6}, 7.4, "#2862aa", {5.7, 6.1, 5.3}, 6.1},
       {"#9ad7a3", {10.7, 9.7, 8.5}, 11.3, "#174c1c", {9.3, 10.1, 8.7}, 10.1},
       {"#875ed3", {3.9, 3.5, 3.1}, 4.6, "#5b0488", {10.7, 11.6, 9.9}, 11.6},
       {"#ca4859", {3.9, 3.5, 3.1}, 4.6, "#8b2953", {7.6, 8.3, 7.1}, 8.3},
       {"#24f3ff", {13.0, 11.8, 10.4}, 13.7, "#1b95aa", {3.3, 3.5, 3.1}, 5.3},
       {"#dcd42e", {11.4, 10.4, 9.1}, 12.1, "#818f2b", {3.3, 3.6, 3.1}, 5.3},
       {"#a2a3a5", {7.0, 6.4, 5.6}, 7.4, "#6c6d73", {4.8, 5.2, 4.4}, 5.2}}};
  return rows;
}

Vector3 contrasts(const QColor& colour, const Theme& t) {
  return {contrastRatio(colour, t.background), contrastRatio(colour, t.surface),
          contrastRatio(colour, t.raised)};
}

void addRow(const QString& name, const QColor& colour, const char* hex, const Theme& t,
            const Vector3& expected, double least) {
  const QString theme = t.appearance == Appearance::dark ? "dark " : "light ";
  QTest::newRow(qPrintable(theme + name))
      << colour << QString(hex) << contrasts(colour, t) << expected << least;
}

}  // namespace

Q_DECLARE_METATYPE(Vector3)

class TestTheme : public QObject {
  Q_OBJECT

 private slots:
  void contrastOfTokens_data() {
    QTest::addColumn<QColor>("colour");
    QTest::addColumn<QString>("hex");
    QTest::addColumn<Vector3>("found");
    QTest::addColumn<Vector3>("expected");
    QTest::addColumn<double>("least");
    const Theme& dark = themeFor(Appearance::dark);
    const Theme& light = themeFor(Appearance::light);
    for (const ColourRow& row : colourRows()) {
      addRow(row.name, dark.*row.colour, row.dark, dark, row.darkContrast, row.least);
      addRow(row.name, light.*row.colour, row.light, light, row.lightContrast, row.least);
    }
    for (int i = 0; i < kSeriesCount; ++i) {
      const SeriesRow& row = seriesRows()[i];
      const QString name = QString("series %1").arg(i + 1);
      addRow(name, dark.series[i].colour, row.dark, dark, row.darkContrast, kGraphics);
      addRow(name, light.series[i].colour, row.light, light, row.lightContrast, kGraphics);
    }
  }

  void contrastOfTokens() {
    QFETCH(QColor, colour);
    QFETCH(QString, hex);
    QFETCH(Vector3, found);
    QFETCH(Vector3, expected);
    QFETCH(double, least);
    QCOMPARE(colour.name(), hex);
    for (int i = 0; i < 3; ++i) {
      QVERIFY2(std::fabs(found[i] - expected[i]) <= 0.051,
               qPrintable(QString("%1 instead of %2").arg(found[i]).arg(expected[i])));
      QVERIFY(found[i] >= least);
    }
  }

  void contrastOnFills_data() {
    QTest::addColumn<QColor>("text");
    QTest::addColumn<QColor>("fill");
    QTest::addColumn<double>("expected");
    const Theme& dark = themeFor(Appearance::dark);
    const Theme& light = themeFor(Appearance::light);
    QTest::newRow("dark accent") << dark.onAccent << dark.accent << 9.1;
    QTest::newRow("dark hover") << dark.onAccent << dark.accentHover << 9.7;
    QTest::newRow("light accent") << light.onAccent << light.accent << 5.8;
    QTest::newRow("light hover") << light.onAccent << light.accentHover << 6.7;
    QTest::newRow("dark selected") << dark.text << mixed(dark.accent, dark.surface, 0.14) << 10.2;
    QTest::newRow("light selected")
        << light.text << mixed(light.accent, light.surface, 0.10) << 14.3;
    for (int i = 0; i < kSeriesCount; ++i) {
      const SeriesRow& row = seriesRows()[i];
      QTest::newRow(qPrintable(QString("dark label %1").arg(i + 1)))
          << dark.series[i].label << dark.series[i].colour << row.darkLabel;
      QTest::newRow(qPrintable(QString("light label %1").arg(i + 1)))
          << light.series[i].label << light.series[i].colour << row.lightLabel;
    }
  }

  void contrastOnFills() {
    QFETCH(QColor, text);
    QFETCH(QColor, fill);
    QFETCH(double, expected);
    const double found = contrastRatio(text, fill);
    QVERIFY2(std::fabs(found - expected) <= 0.051, qPrintable(QString::number(found)));
    QVERIFY(found >= kText);
  }

  void textOnBanners_data() {
    QTest::addColumn<int>("appearance");
    QTest::newRow("light") << 0;
    QTest::newRow("dark") << 1;
  }

  void textOnBanners() {
    QFETCH(int, appearance);
    const auto chosen = appearance == 1 ? Appearance::dark : Appearance::light;
    applyTheme(*qApp, chosen);
    for (const QColor& colour : {theme().success, theme().warning, theme().danger, theme().info}) {
      QVERIFY(contrastRatio(theme().text, bannerTint(colour)) >= 11.25);
      QVERIFY(contrastRatio(colour, bannerTint(colour)) >= kText);
    }
  }

  void seriesAreTellable_data() {
    QTest::addColumn<int>("appearance");
    QTest::addColumn<int>("vision");
    QTest::addColumn<double>("expected");
    const char* names[] = {"normal", "protan", "deutan", "tritan"};
    const double dark[] = {0.121, 0.115, 0.117, 0.114};
    const double light[] = {0.128, 0.079, 0.087, 0.086};
    for (int i = 0; i < 4; ++i) {
      QTest::newRow(qPrintable(QString("dark ") + names[i])) << 1 << i << dark[i];
      QTest::newRow(qPrintable(QString("light ") + names[i])) << 0 << i << light[i];
    }
  }

  void seriesAreTellable() {
    QFETCH(int, appearance);
    QFETCH(int, vision);
    QFETCH(double, expected);
    const Theme& t = themeFor(appearance == 1 ? Appearance::dark : Appearance::light);
    const double found = smallestDistance(t, visions()[vision]);
    QVERIFY2(std::fabs(found - expected) <= 0.0006, qPrintable(QString::number(found)));
  }

  void linePatternsDiffer() {
    for (const Appearance appearance : {Appearance::dark, Appearance::light}) {
      const auto& series = themeFor(appearance).series;
      for (int a = 0; a < kSeriesCount; ++a) {
        for (int b = a + 1; b < kSeriesCount; ++b) {
          QVERIFY(series[a].dashes != series[b].dashes || series[a].width_px != series[b].width_px);
        }
      }
    }
  }

  void styleSheetHasNoOpenToken_data() { textOnBanners_data(); }

  void styleSheetHasNoOpenToken() {
    QFETCH(int, appearance);
    QSignalSpy changed(&ThemeNotifier::instance(), &ThemeNotifier::changed);
    applyTheme(*qApp, appearance == 1 ? Appearance::dark : Appearance::light);
    QCOMPARE(changed.count(), 1);
    const QString sheet = qApp->styleSheet();
    QVERIFY(sheet.size() > 1000);
    QVERIFY2(!sheet.contains('@'), qPrintable(sheet.mid(sheet.indexOf('@'), 40)));
    QVERIFY(sheet.contains(theme().accent.name()));
    QVERIFY(sheet.count('\n') < 150);
    for (const QString& part : sheet.split("url(").mid(1)) {
      const QString path = part.left(part.indexOf(')'));
      QVERIFY2(QFile::exists(path), qPrintable(path));
    }
  }

  /// The style sheet cannot colour an image, so its files must hold the theme's colours.
  void sheetImagesFollowTheTheme() {
    for (const Appearance appearance : {Appearance::dark, Appearance::light}) {
      const QString suffix = appearance == Appearance::dark ? "dark" : "light";
      const Theme& t = themeFor(appearance);
      const QVector<std::pair<QString, QColor>> images = {
          {"check", t.onAccent}, {"chevron-down", t.muted}, {"chevron-up", t.muted}};
      for (const auto& [name, colour] : images) {
        QFile file(QString(":/athanor/icons/sheet-%1-%2.svg").arg(name, suffix));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY2(file.readAll().contains(colour.name().toLatin1()), qPrintable(file.fileName()));
      }
    }
  }

  void fontsHaveTheirSizes_data() {
    QTest::addColumn<int>("role");
    QTest::addColumn<int>("size_px");
    QTest::addColumn<bool>("semibold");
    const auto row = [](const char* name, FontRole role, int size, bool semibold) {
      QTest::newRow(name) << static_cast<int>(role) << size << semibold;
    };
    row("title", FontRole::title, 20, true);
    row("first run", FontRole::firstRun, 28, true);
    row("figure", FontRole::figure, 22, true);
    row("small figure", FontRole::figureSmall, 18, true);
    row("body", FontRole::body, 13, false);
    row("emphasis", FontRole::emphasis, 13, true);
    row("note", FontRole::note, 12, false);
    row("axis", FontRole::axis, 11, false);
    row("chat", FontRole::chat, 13, false);
  }

  void fontsHaveTheirSizes() {
    QFETCH(int, role);
    QFETCH(int, size_px);
    QFETCH(bool, semibold);
    const QFont font = themedFont(static_cast<FontRole>(role));
    QCOMPARE(font.pixelSize(), size_px);
    QCOMPARE(font.weight() >= QFont::DemiBold, semibold);
  }

  void iconsRenderInTheirColour_data() {
    QTest::addColumn<QString>("name");
    for (const QString& name : iconNames())
      QTest::newRow(qPrintable(name)) << name;
  }

  void iconsRenderInTheirColour() {
    QFETCH(QString, name);
    const QColor red(255, 0, 0);
    const QImage image = icon(name, red).pixmap(QSize(24, 24), 2.0).toImage();
    QCOMPARE(image.size(), QSize(48, 48));
    int strong = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        const QColor pixel = image.pixelColor(x, y);
        if (pixel.alpha() > 200 && pixel.red() > 240 && pixel.green() < 15) ++strong;
      }
    }
    QVERIFY2(strong > 20, qPrintable(QString::number(strong)));
  }

  void everyNamedIconExists() {
    const QStringList known = iconNames();
    for (const char* name :
         {"plan",  "run",           "chat",         "runs",         "data",  "settings",
          "play",  "pause",         "stop",         "save",         "check", "warning",
          "cross", "chevron-right", "chevron-left", "chevron-down", "send",  "device",
          "clock", "copy",          "refresh",      "folder",       "spark", "info"}) {
      QVERIFY2(known.contains(name), name);
    }
  }

  void toneIconsFollowTheTheme() {
    const QIcon follower = icon("stop", Tone::text);
    applyTheme(*qApp, Appearance::dark);
    const QImage dark = follower.pixmap(QSize(20, 20), 1.0).toImage();
    applyTheme(*qApp, Appearance::light);
    QVERIFY(dark != follower.pixmap(QSize(20, 20), 1.0).toImage());
  }
};

QTEST_MAIN(TestTheme)
#include "test_theme.moc"
