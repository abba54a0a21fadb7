// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtCore/QTemporaryDir>
#include <QtTest/QtTest>

#include "engine/backend/cuda/product_plans.h"
#include "engine/base/file.h"

namespace athanor {
namespace {

using cuda::ProductPlans;

constexpr ProductPlans::Words kWords = {1, 2, 3, 4, 5, 6, 7, ~std::uint64_t{0}};
constexpr const char* kProduct = "TN 64x32x16 bf16 256";

}  // namespace

/// The file of the fastest ways to make products.
class TestProductPlans : public QObject {
  Q_OBJECT

 private slots:
  void what_is_kept_is_found_again();
  void plans_of_another_device_are_none();
  void a_damaged_file_is_said_and_replaced_data();
  void a_damaged_file_is_said_and_replaced();
  void a_folder_that_takes_no_file_is_no_trouble();

 private:
  std::filesystem::path file() const { return folder_.filePath("plans.json").toStdString(); }
  QTemporaryDir folder_;
};

void TestProductPlans::what_is_kept_is_found_again() {
  {
    ProductPlans plans(file(), "card A");
    QVERIFY(!plans.find(kProduct));
    plans.keep(kProduct, kWords);
    plans.save();
  }
  const ProductPlans again(file(), "card A");
  QVERIFY(again.problem().empty());
  QVERIFY(again.find(kProduct) == kWords);
  QVERIFY(!again.find("NN 1x1x1 f32 16"));
}

void TestProductPlans::plans_of_another_device_are_none() {
  ProductPlans plans(file(), "card A");
  plans.keep(kProduct, kWords);
  plans.save();
  const ProductPlans other(file(), "card A, driver 13010");
  QVERIFY(other.problem().empty());
  QVERIFY(!other.find(kProduct));
}

void TestProductPlans::a_damaged_file_is_said_and_replaced_data() {
  QTest::addColumn<QString>("content");
  QTest::newRow("empty") << "";
  QTest::newRow("cut off") << R"({"format": 1, "device": "card A", "plans": {"TN)";
  QTest::newRow("no object") << "[1, 2]";
  QTest::newRow("too few words")
      << R"({"format": 1, "device": "card A", "plans": {"TN 64x32x16 bf16 256": [1, 2]}})";
  QTest::newRow("no numbers")
      << R"({"format": 1, "device": "card A", "plans": {"x": ["a","b","c","d","e","f","g","h"]}})";
}

void TestProductPlans::a_damaged_file_is_said_and_replaced() {
  QFETCH(const QString, content);
  write_file_atomically(file(), content.toStdString());
  {
    ProductPlans plans(file(), "card A");
    QVERIFY(plans.problem().find(file().string()) != std::string::npos);
    QVERIFY(plans.problem().find("measured again") != std::string::npos);
    QVERIFY(!plans.find(kProduct));
    plans.keep(kProduct, kWords);
    plans.save();
  }
  QVERIFY(ProductPlans(file(), "card A").find(kProduct) == kWords);
}

void TestProductPlans::a_folder_that_takes_no_file_is_no_trouble() {
  write_file_atomically(file(), "a file, no folder");
  ProductPlans plans(file() / "plans.json", "card A");
  plans.keep(kProduct, kWords);
  plans.save();
  QVERIFY(plans.find(kProduct) == kWords);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestProductPlans)
#include "test_product_plans.moc"
