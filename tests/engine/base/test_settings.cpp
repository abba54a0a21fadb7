// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <array>
#include <string>

#include "engine/base/json.h"
#include "engine/base/settings.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

enum class Fuel { wood, coal, gas };
constexpr std::array<std::string_view, 3> names_of(Fuel) {
  return {"wood", "coal", "gas"};
}

struct FurnaceSettings {
  std::int64_t bricks = 100;
  int doors = 1;
  double heat = 0.5;
  bool lit = false;
  Fuel fuel = Fuel::coal;
  std::string label = "athanor";
};

template <class Visitor>
void visit_fields(FurnaceSettings& settings, Visitor&& visitor) {
  visitor("bricks", settings.bricks, Bounds{.least = 1});
  visitor("doors", settings.doors, Bounds{0, 4});
  visitor("heat", settings.heat, Bounds{0, 1});
  visitor("lit", settings.lit);
  visitor("fuel", settings.fuel);
  visitor("label", settings.label);
}

FurnaceSettings read(const std::string& text) {
  return settings_from_json<FurnaceSettings>(parse_json(text, "test"), "furnace");
}

}  // namespace

/// Settings: one list of fields that reads, writes and checks.
class TestSettings : public QObject {
  Q_OBJECT

 private slots:
  void absent_fields_keep_their_defaults();
  void written_settings_read_back();
  void mistakes_name_the_field_data();
  void mistakes_name_the_field();
  void bounds_include_their_ends();
  void settings_from_code_are_checked();
  void choices_read_like_a_sentence();
};

void TestSettings::absent_fields_keep_their_defaults() {
  const FurnaceSettings settings = read(R"({"doors": 3})");
  QCOMPARE(settings.doors, 3);
  QCOMPARE(settings.bricks, std::int64_t{100});
  QCOMPARE(settings.label, std::string("athanor"));
}

void TestSettings::written_settings_read_back() {
  const FurnaceSettings written{9007199254740993, 2, 0.1, true, Fuel::gas, "two \"words\""};
  const Json json = settings_to_json(written);
  QCOMPARE(json["fuel"].get<std::string>(), std::string("gas"));
  const FurnaceSettings settings = settings_from_json<FurnaceSettings>(json, "furnace");
  QCOMPARE(settings.bricks, written.bricks);
  QCOMPARE(settings.doors, written.doors);
  QVERIFY(settings.heat == written.heat);
  QCOMPARE(settings.lit, written.lit);
  QCOMPARE(static_cast<int>(settings.fuel), static_cast<int>(Fuel::gas));
  QCOMPARE(settings.label, written.label);
}

void TestSettings::mistakes_name_the_field_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("part");
  QTest::newRow("too small") << R"({"bricks": 0})"
                             << "furnace.bricks must be at least 1; it is 0";
  QTest::newRow("too large") << R"({"doors": 5})"
                             << "furnace.doors must be between 0 and 4; it is 5";
  QTest::newRow("out of range") << R"({"heat": 1.5})"
                                << "furnace.heat must be between 0 and 1";
  QTest::newRow("fraction") << R"({"doors": 1.5})"
                            << "furnace.doors must be a whole number";
  QTest::newRow("text for number") << R"({"doors": "1"})"
                                   << "furnace.doors must be a whole number";
  QTest::newRow("text for real") << R"({"heat": "hot"})"
                                 << "furnace.heat must be a number";
  QTest::newRow("number for flag") << R"({"lit": 1})"
                                   << "furnace.lit must be true or false";
  QTest::newRow("number for text") << R"({"label": 7})"
                                   << "furnace.label must be text";
  QTest::newRow("unknown choice") << R"({"fuel": "oil"})"
                                  << "furnace.fuel must be wood, coal or gas; it is \"oil\"";
  QTest::newRow("huge") << R"({"bricks": 1e300})"
                        << "furnace.bricks is too large";
  QTest::newRow("unknown field") << R"({"door": 1})"
                                 << "no setting furnace.door. Known here: bricks, doors, fuel";
  QTest::newRow("not an object") << "[1]"
                                 << "furnace must be a group of fields";
}

void TestSettings::mistakes_name_the_field() {
  QFETCH(const QString, text);
  QFETCH(const QString, part);
  ATHANOR_EXPECT_ERROR(read(text.toStdString()), ErrorKind::invalid_argument, part.toStdString());
}

void TestSettings::bounds_include_their_ends() {
  QCOMPARE(read(R"({"doors": 4, "heat": 1, "bricks": 1})").doors, 4);
  QCOMPARE(read(R"({"doors": 0.0})").doors, 0);
  ATHANOR_EXPECT_ERROR(check_bounds(std::nan(""), "x", {}, false), ErrorKind::invalid_argument,
                       "x must be an ordinary number");
  ATHANOR_EXPECT_ERROR(check_bounds(3, "x", {.most = 2}, true), ErrorKind::invalid_argument,
                       "x must be at most 2");
}

void TestSettings::settings_from_code_are_checked() {
  FurnaceSettings settings;
  check_settings(settings, "furnace");
  settings.heat = 2;
  ATHANOR_EXPECT_ERROR(check_settings(settings, "furnace"), ErrorKind::invalid_argument,
                       "furnace.heat");
  ATHANOR_EXPECT_ERROR(check_settings(settings, ""), ErrorKind::invalid_argument,
                       "heat must be between");
}

void TestSettings::choices_read_like_a_sentence() {
  const std::array<std::string_view, 3> names = {"one", "two", "three"};
  QCOMPARE(choices_text(names), std::string("one, two or three"));
  QCOMPARE(choices_text(std::span(names).first(2)), std::string("one or two"));
  QCOMPARE(choices_text(std::span(names).first(1)), std::string("one"));
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestSettings)
#include "test_settings.moc"
