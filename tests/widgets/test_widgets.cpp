// SPDX-License-Identifier: GPL-3.0-or-later
// The smaller widgets: what they say, what they emit, and that the keyboard reaches them.

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>
#include <numeric>

#include "widgets/badge.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/collapsible.h"
#include "widgets/composer.h"
#include "widgets/conversation_view.h"
#include "widgets/empty_state.h"
#include "widgets/figure.h"
#include "widgets/form_row.h"
#include "widgets/history_gauge.h"
#include "widgets/loss_plot.h"
#include "widgets/memory_bar.h"
#include "widgets/number_field.h"
#include "widgets/pixel_split.h"
#include "widgets/rail.h"
#include "widgets/segmented.h"
#include "widgets/text_block.h"
#include "widgets/theme.h"

using namespace athanor;

namespace {

constexpr std::int64_t kGib = 1073741824;

MemoryBarData planOf(std::int64_t weights_gib) {
  MemoryBarData data;
  data.segments = {{"Weights", weights_gib * kGib, 2}, {"Activations", 4 * kGib, 1}};
  data.capacity_bytes = 16 * kGib;
  data.free_bytes = 15 * kGib;
  data.reserve_bytes = kGib / 2;
  return data;
}

int pixelsOf(const QImage& image, const QColor& colour) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x)
      count += image.pixelColor(x, y) == colour ? 1 : 0;
  }
  return count;
}

QPushButton* buttonNamed(const QWidget& parent, const QString& text) {
  for (QPushButton* button : parent.findChildren<QPushButton*>()) {
    if (button->text() == text && !button->isHidden()) return button;
  }
  return nullptr;
}

}  // namespace

class TestWidgets : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { applyTheme(*qApp, Appearance::dark); }

  void splitSumsExactly_data() {
    QTest::addColumn<QVector<qint64>>("bytes");
    QTest::addColumn<int>("width_px");
    QTest::newRow("thirds") << QVector<qint64>{1, 1, 1} << 100;
    QTest::newRow("many small") << QVector<qint64>{1000, 1, 1, 1, 1} << 200;
    QTest::newRow("a zero") << QVector<qint64>{500, 0, 500} << 77;
    QTest::newRow("large") << QVector<qint64>{7'000'000'000'000, 11, 3'000'000'000'000} << 734;
  }

  void splitSumsExactly() {
    QFETCH(QVector<qint64>, bytes);
    QFETCH(int, width_px);
    QVector<std::int64_t> sizes(bytes.begin(), bytes.end());
    const auto total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    const QVector<int> widths = splitPixels(sizes, total, width_px);
    QCOMPARE(std::accumulate(widths.begin(), widths.end(), 0), width_px);
    for (int i = 0; i < widths.size(); ++i) {
      QVERIFY(sizes[i] > 0 ? widths[i] >= 2 : widths[i] == 0);
    }
  }

  void splitOfNothing() {
    QCOMPARE(splitPixels({}, 0, 100), QVector<int>());
    QCOMPARE(splitPixels({0, 0}, 10, 100), (QVector<int>{0, 0}));
  }

  void memoryBarCounts() {
    MemoryBar bar;
    bar.setData(planOf(3));
    QCOMPARE(bar.planned_bytes(), 7 * kGib);
    QCOMPARE(bar.left_bytes(), 15 * kGib - kGib / 2 - 7 * kGib);
    QVERIFY2(bar.accessibleDescription().contains("7.50 GiB left"),
             qPrintable(bar.accessibleDescription()));
    bar.setData(planOf(12));
    QVERIFY(bar.left_bytes() < 0);
    QVERIFY(bar.accessibleDescription().contains("1.50 GiB too much"));
  }

  void memoryBarNamesOnlyWhatTakesMemory() {
    MemoryBar bar;
    MemoryBarData data{.segments = {{"Weights", kGib, 2}, {"Gradients", kGib, 3}},
                       .capacity_bytes = 16 * kGib,
                       .free_bytes = 15 * kGib};
    bar.setData(data);
    const int height = bar.sizeHint().height();
    data.segments += {{"Logits", 0, 7}, {"Batch", 0, 8}};
    bar.setData(data);
    QCOMPARE(bar.sizeHint().height(), height);
    data.segments.back().bytes = kGib;
    bar.setData(data);
    QVERIFY(bar.sizeHint().height() > height);
  }

  void memoryBarPaintsOverBudget() {
    MemoryBar bar;
    bar.resize(600, bar.sizeHint().height());
    bar.setData(planOf(3));
    QCOMPARE(pixelsOf(bar.grab().toImage(), theme().danger), 0);
    bar.setData(planOf(12));
    QVERIFY(pixelsOf(bar.grab().toImage(), theme().danger) > 50);
    bar.setCompact(8);
    QCOMPARE(bar.sizeHint().height(), 8);
  }

  void memoryBarSegmentsAreProportional() {
    MemoryBar bar;
    bar.setCompact(10);
    bar.resize(1600, 10);
    bar.setData(planOf(4));
    const QImage image = bar.grab().toImage();
    // 4 of 16 GiB each, less the 1-px gap.
    QCOMPARE(pixelsOf(image, seriesStyle(2).colour), 399 * 10);
    QCOMPARE(pixelsOf(image, seriesStyle(1).colour), 399 * 10);
  }

  void badgesAreIconAndWord() {
    for (const BadgeKind kind : {BadgeKind::running, BadgeKind::paused, BadgeKind::interrupted,
                                 BadgeKind::finished, BadgeKind::failed, BadgeKind::queued}) {
      Badge badge(kind);
      QVERIFY(!badgeWord(kind).isEmpty());
      QVERIFY(!badgeIconName(kind).isEmpty());
      QCOMPARE(badge.accessibleName(), badgeWord(kind));
      badge.resize(badge.sizeHint());
      QVERIFY(pixelsOf(badge.grab().toImage(), toneColour(badgeTone(kind))) > 10);
    }
  }

  void bannerResetsEverything() {
    Banner banner;
    QVERIFY(banner.isHidden());
    QSignalSpy actions(&banner, &Banner::actionTriggered);
    banner.showMessage({BannerKind::danger,
                        "Paused",
                        "The loss is not finite.",
                        "batch 12",
                        {{"resume", "Resume", true}},
                        false});
    QVERIFY(!banner.isHidden());
    QVERIFY(buttonNamed(banner, "Details") != nullptr);
    QTest::mouseClick(buttonNamed(banner, "Resume"), Qt::LeftButton);
    QCOMPARE(actions.count(), 1);
    QCOMPARE(actions[0][0].toString(), QString("resume"));
    banner.showMessage({BannerKind::success, "Saved", {}, {}, {}, true});
    QVERIFY(buttonNamed(banner, "Resume") == nullptr);
    QVERIFY(buttonNamed(banner, "Details") == nullptr);
    QCOMPARE(banner.accessibleName(), QString("Saved"));
    QSignalSpy closed(&banner, &Banner::closed);
    QTest::mouseClick(banner.findChild<QToolButton*>(), Qt::LeftButton);
    QCOMPARE(closed.count(), 1);
    QVERIFY(banner.isHidden());
  }

  void bannerActionMayReplaceTheBanner() {
    Banner banner;
    connect(&banner, &Banner::actionTriggered, &banner, [&banner] {
      banner.showMessage({BannerKind::info, "Done", {}, {}, {}, true});
    });
    banner.showMessage({BannerKind::info, "Ask", {}, {}, {{"a", "Do it", false}}, true});
    QTest::mouseClick(buttonNamed(banner, "Do it"), Qt::LeftButton);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QCOMPARE(banner.content().title, QString("Done"));
  }

  void emptyStateActs() {
    EmptyState state("chat", "No model to talk to yet", "Train the demo model");
    QSignalSpy activated(&state, &EmptyState::activated);
    QTest::mouseClick(buttonNamed(state, "Train the demo model"), Qt::LeftButton);
    QCOMPARE(activated.count(), 1);
    state.setAction({});
    QVERIFY(buttonNamed(state, {}) == nullptr);
  }

  void segmentedMovesByArrows() {
    Segmented choice("Mode", {"Pretrain", "Fine-tune", "LoRA"});
    choice.show();
    choice.setOptionEnabled(1, false, "needs a starting checkpoint");
    QSignalSpy changed(&choice, &Segmented::currentChanged);
    auto* first = choice.findChildren<QAbstractButton*>().at(0);
    first->setFocus();
    QTest::keyClick(first, Qt::Key_Right);
    QCOMPARE(choice.current(), 2);
    QCOMPARE(changed.count(), 1);
    choice.setCurrent(2);
    QCOMPARE(changed.count(), 1);
    choice.setCurrent(7);
    QCOMPARE(choice.current(), 2);
  }

  void collapsibleFolds() {
    Collapsible group("Regularisation");
    auto* inside = new QLabel("decay");
    group.content()->addWidget(inside);
    group.show();
    QVERIFY(!inside->isVisible());
    QSignalSpy changed(&group, &Collapsible::expandedChanged);
    QTest::keyClick(group.findChild<QAbstractButton*>(), Qt::Key_Space);
    QVERIFY(group.isExpanded() && inside->isVisible());
    QCOMPARE(changed.count(), 1);
  }

  void figureSpeaks() {
    Figure figure("Predicted speed", true);
    figure.setValue("11,900", "tokens/s");
    QCOMPARE(figure.accessibleName(), QString("Predicted speed"));
    QCOMPARE(figure.accessibleDescription(), QString("11,900 tokens/s"));
  }

  void cardHidesAnEmptyHeader() {
    Card card;
    const int bare = card.sizeHint().height();
    card.setTitle("Loss");
    QVERIFY(card.sizeHint().height() > bare);
  }

  void gaugeKeepsTenMinutesAndGaps() {
    HistoryGauge gauge("Power", 0, 360, 1);
    gauge.resize(300, gauge.sizeHint().height());
    gauge.append({0, 340});
    const QImage one = gauge.grab().toImage();
    for (int i = 1; i < 700; ++i)
      gauge.append({double(i), i % 100 == 50 ? std::nan("") : 340.0});
    QVERIFY(gauge.grab().toImage() != one);
    gauge.setValueText("245 of 360 W");
    gauge.setWarning("too hot");
    QCOMPARE(gauge.accessibleDescription(), QString("245 of 360 W, too hot"));
    QVERIFY(pixelsOf(gauge.grab().toImage(), theme().warning) > 10);
  }

  void railOpensPages() {
    Rail rail(standardRailEntries());
    rail.show();
    rail.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&rail));
    QCOMPARE(rail.current(), -1);
    QSignalSpy activated(&rail, &Rail::activated);
    const auto items = rail.findChildren<QAbstractButton*>();
    QCOMPARE(items.size(), 6);
    QTest::mouseClick(items[2], Qt::LeftButton);
    QCOMPARE(activated[0][0].toInt(), 2);
    for (int i = 0; i < 6; ++i) {
      QTest::keyClick(&rail, static_cast<Qt::Key>(Qt::Key_1 + i), Qt::ControlModifier);
      QCOMPARE(activated.back()[0].toInt(), i);
    }
    rail.setCurrent(3);
    QVERIFY(items[3]->isChecked());
    rail.setCurrent(-1);
    QVERIFY(!items[3]->isChecked());
  }

  void everyInputHasANameAndTabReachesIt() {
    QWidget page;
    auto* layout = new QVBoxLayout(&page);
    layout->addWidget(new Rail(standardRailEntries()));
    layout->addWidget(new Segmented("Axis", {"Step", "Tokens"}));
    layout->addWidget(new FormRow("Context", new NumberField));
    layout->addWidget(new Collapsible("More"));
    layout->addWidget(new Composer);
    layout->addWidget(new LossPlot("Loss"));
    layout->addWidget(primaryButton("Start", "play"));
    layout->addWidget(iconButton("copy", "Copy"));
    layout->addWidget(new EmptyState("chat", "Nothing", "Add"));
    page.show();
    page.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&page));
    QSet<QWidget*> reached;
    for (int i = 0; i < 60; ++i) {
      QTest::keyClick(&page, Qt::Key_Tab);
      if (QApplication::focusWidget() != nullptr) reached << QApplication::focusWidget();
    }
    for (QWidget* widget : reached) {
      QVERIFY2(!widget->accessibleName().isEmpty(), widget->metaObject()->className());
    }
    for (QAbstractButton* button : page.findChildren<QAbstractButton*>()) {
      const bool withinChoice = qobject_cast<Segmented*>(button->parentWidget()) != nullptr;
      if (!button->isEnabled() || !button->isVisible() || withinChoice) continue;
      QVERIFY2(reached.contains(button), qPrintable(button->accessibleName()));
    }
    QVERIFY(reached.size() >= 12);
  }

  void focusRingShowsForTheKeyboardOnly() {
    QWidget page;
    auto* layout = new QVBoxLayout(&page);
    layout->setContentsMargins(20, 20, 20, 20);
    QPushButton* first = plainButton("One");
    QPushButton* second = plainButton("Two");
    layout->addWidget(first);
    layout->addWidget(second);
    page.show();
    page.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&page));
    first->setFocus(Qt::MouseFocusReason);
    QTest::qWait(20);
    const int before = pixelsOf(page.grab().toImage(), theme().accent);
    second->setFocus(Qt::TabFocusReason);
    QTest::qWait(20);
    QVERIFY(pixelsOf(page.grab().toImage(), theme().accent) > before + 50);
    first->setFocus(Qt::MouseFocusReason);
    QTest::qWait(20);
    QCOMPARE(pixelsOf(page.grab().toImage(), theme().accent), before);
  }
};

QTEST_MAIN(TestWidgets)
#include "test_widgets.moc"
