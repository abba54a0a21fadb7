// SPDX-License-Identifier: GPL-3.0-or-later
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QStandardItemModel>
#include <QtTest/QtTest>

#include "engine/backend/cuda/card_traits.h"
#include "engine/base/file.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "tests/gui/window_fixture.h"
#include "widgets/form_row.h"
#include "widgets/memory_bar.h"

namespace athanor {
namespace {

QComboBox* machineBox(PlanPage* page) {
  return page->form()->findChild<QComboBox*>("machine");
}

void choose(PlanPage* page, const QString& card) {
  QComboBox* box = machineBox(page);
  const int index = box->findText(card, Qt::MatchStartsWith);
  QVERIFY2(index >= 0, qPrintable(card));
  box->setCurrentIndex(index);
  emit box->activated(index);
}

bool shows(const QWidget* widget, const QString& text) {
  const QList<QLabel*> labels = widget->findChildren<QLabel*>();
  return std::any_of(labels.begin(), labels.end(),
                     [&](const QLabel* label) { return label->text().contains(text); });
}

}  // namespace

/// Planning for a graphics card that is not in the machine.
class TestPlanCards : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { prepareApplication(); }
  void a_card_has_its_own_memory_and_speed();
  void nothing_starts_for_a_card();
  void applying_for_a_card_keeps_the_storage();
  void old_cards_say_why_not();
  void fp8_is_offered_where_the_card_has_it();
  void own_cards_are_offered();
  void a_damaged_file_of_cards_is_told();
};

void TestPlanCards::a_card_has_its_own_memory_and_speed() {
  WindowFixture fixture;
  PlanPage* page = fixture.window().planPage();
  fixture.window().showPage(Page::plan);
  page->form()->setSpec(preset("1b").spec);
  choose(page, "RTX 5090");
  const GraphicsCard card = *page->form()->card();
  auto* bar = page->estimate()->findChild<MemoryBar*>();
  const RunSpec asked = page->form()->spec();
  QTRY_COMPARE(
      bar->planned_bytes(),
      plan_training(asked.model, on_card(asked.train), cuda::card_traits()).memory.peak_bytes);
  QTRY_VERIFY(shows(page->estimate(), "estimated for the card"));
  QCOMPARE(page->estimate()->verdict(), PlanEstimate::Verdict::fits);
  choose(page, "RTX 3060,");
  QTRY_COMPARE(page->estimate()->verdict(), PlanEstimate::Verdict::doesNotFit);
  QVERIFY(page->estimate()->sentence().contains("a proposal below fits"));
  QVERIFY(card.memory_bytes > page->form()->card()->memory_bytes);
}

void TestPlanCards::nothing_starts_for_a_card() {
  WindowFixture fixture;
  PlanPage* page = fixture.window().planPage();
  fixture.window().showPage(Page::plan);
  const auto button = [&](const QString& text) {
    for (QPushButton* each : page->findChildren<QPushButton*>()) {
      if (each->text().contains(text)) return each;
    }
    return static_cast<QPushButton*>(nullptr);
  };
  QPushButton* start = button("Start");
  QTRY_VERIFY(start->isEnabled());
  choose(page, "RTX 4060");
  QTRY_VERIFY(!start->isEnabled());
  QVERIFY(start->toolTip().contains("choose Plan for: This computer"));
  QVERIFY(!button("Rehearse")->isEnabled());
  choose(page, "This computer");
  QTRY_VERIFY(start->isEnabled());
}

void TestPlanCards::applying_for_a_card_keeps_the_storage() {
  WindowFixture fixture;
  PlanPage* page = fixture.window().planPage();
  fixture.window().showPage(Page::plan);
  page->form()->setSpec(preset("tinygpt2").spec);
  choose(page, "RTX 3070 Ti");
  QPushButton* apply = nullptr;
  const auto find = [&] {
    for (QPushButton* each : page->estimate()->findChildren<QPushButton*>()) {
      if (each->text() == "Apply" && each->isVisible() && each->isEnabled()) apply = each;
    }
    return apply != nullptr;
  };
  QTRY_VERIFY(find());
  const TrainConfig before = page->form()->spec().train;
  apply->click();
  const TrainConfig after = page->form()->spec().train;
  QVERIFY(after.micro_batch != before.micro_batch ||
          after.recompute_level != before.recompute_level);
  QVERIFY(after.weights == before.weights && after.activations == before.activations);
}

void TestPlanCards::old_cards_say_why_not() {
  WindowFixture fixture;
  PlanPage* page = fixture.window().planPage();
  fixture.window().showPage(Page::plan);
  choose(page, "RTX 2060");
  QTRY_VERIFY(shows(page->estimate(), "The RTX 2060 cannot train: it has no BF16"));
}

void TestPlanCards::fp8_is_offered_where_the_card_has_it() {
  WindowFixture fixture;
  PlanPage* page = fixture.window().planPage();
  fixture.window().showPage(Page::plan);
  auto* products = page->form()->findChild<QComboBox*>("train.products");
  const auto item = [&] {
    return qobject_cast<QStandardItemModel*>(products->model())
        ->item(static_cast<int>(Products::fp8));
  };
  QTRY_VERIFY(!item()->isEnabled());
  QVERIFY(item()->toolTip().contains("8.9"));
  choose(page, "RTX 4090");
  QTRY_VERIFY(item()->isEnabled());
  QVERIFY(item()->toolTip().isEmpty());
  // Off unless chosen.
  QCOMPARE(page->form()->spec().train.products, Products::as_stored);
  products->setCurrentIndex(static_cast<int>(Products::fp8));
  emit products->activated(products->currentIndex());
  QTRY_VERIFY(shows(page->estimate(), "estimated for the card"));
  choose(page, "RTX 3070 Ti");
  QTRY_VERIFY(page->estimate()->sentence().contains("compute capability 8.9"));
}

void TestPlanCards::own_cards_are_offered() {
  WindowFixture fixture;
  write_file_atomically(fixture.home() / "cards.csv",
                        "name,compute_capability,memory_gib,bandwidth_gb_s,bf16_tflop_s,"
                        "pcie_generation,pcie_lanes\nMine,12.0,48,1000,200,5,8\n");
  fixture.restart();
  PlanPage* page = fixture.window().planPage();
  QVERIFY(machineBox(page)->findText("Mine, 48", Qt::MatchStartsWith) > 0);
}

void TestPlanCards::a_damaged_file_of_cards_is_told() {
  WindowFixture fixture;
  write_file_atomically(fixture.home() / "cards.csv", "nonsense\n");
  fixture.restart();
  PlanPage* page = fixture.window().planPage();
  QVERIFY(machineBox(page)->count() > 40);
  QVERIFY(shows(page->form(), "Your own cards are not shown."));
  QVERIFY(shows(page->form(), "cards.csv, line 1"));
}

}  // namespace athanor

QTEST_MAIN(athanor::TestPlanCards)
#include "test_plan_cards.moc"
