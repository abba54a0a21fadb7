// SPDX-License-Identifier: GPL-3.0-or-later
#include <QRegularExpression>
#include <QTemporaryDir>
#include <set>

#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/data/documents.h"
#include "engine/data/story_corpus.h"
#include "engine/data/story_grammar.h"
#include "engine/data/text_file.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestStoryCorpus : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::filesystem::path path(const char* name) const {
    return folder_.filePath(name).toStdString();
  }

 private slots:
  void the_same_seed_gives_the_same_file() {
    write_story_corpus(path("one"), 200000, 5, CancelToken());
    write_story_corpus(path("two"), 200000, 5, CancelToken());
    write_story_corpus(path("three"), 200000, 6, CancelToken());
    const std::string one = read_small_file(path("one"));
    QVERIFY(one == read_small_file(path("two")));
    QVERIFY(one != read_small_file(path("three")));
    QVERIFY(one.size() >= 200000 && one.size() < 203000);
    QVERIFY(one.ends_with("\n<|endoftext|>\n"));
  }

  void stories_are_well_written() {
    write_story_corpus(path("stories"), 2 << 20, 1, CancelToken());
    const TextFile file = TextFile::open(path("stories"), CancelToken());
    const QRegularExpression fault(
        "\\b[Aa] [aeiouAEIOU]|\\b[Aa]n [^aeiouAEIOU]|  | [.,;]|[\\]\\[{}]|[^\"][.!?] "
        "[a-z]|,,|\\.\\.|\\b(\\w+) \\1\\b");
    DocumentWalker walker(file.text());
    std::set<std::string_view> stories;
    for (std::string_view story; walker.next(story);) {
      const QString text = QString::fromUtf8(story.data(), qsizetype(story.size()));
      const QRegularExpressionMatch match = fault.match(text);
      QVERIFY2(!match.hasMatch(),
               qPrintable(text.mid(std::max<qsizetype>(0, match.capturedStart() - 40), 90)));
      QVERIFY(text.front().isUpper());
      QVERIFY(text.endsWith('.') || text.endsWith('"'));
      QVERIFY2(text.count('"') % 2 == 0, qPrintable(text));
      QVERIFY2(text.count('.') >= 4, qPrintable(text));
      stories.insert(story);
    }
    QVERIFY(stories.size() > 2000);
  }

  void questions_are_json_lines() {
    write_story_questions(path("questions"), 500, 3);
    std::istringstream lines(read_small_file(path("questions")));
    int count = 0;
    std::set<std::string> facts;
    for (std::string line; std::getline(lines, line); ++count) {
      const Json record = parse_json(line, "line");
      QCOMPARE(record.size(), std::size_t{3});
      const std::string instruction = record["instruction"];
      const std::string output = record["output"];
      QVERIFY(record["input"].is_string());
      QVERIFY(instruction.ends_with('?') || instruction.ends_with('.'));
      QVERIFY(!output.empty() && (output.ends_with('.') || output.ends_with('"')));
      if (instruction == "What does the baker use?") facts.insert(output);
      QVERIFY(line.find('{', 1) == std::string::npos);
    }
    QCOMPARE(count, 500);
    QVERIFY(facts.size() <= 1);
  }

  void grammar_polishes() {
    QCOMPARE(story::polish("a apple fell.  he said, \"oh, a egg!\" she laughed."),
             std::string("An apple fell. He said, \"Oh, an egg!\" she laughed."));
    story::Choices choices(1, 1);
    ATHANOR_EXPECT_ERROR(story::expand("{nobody}", {}, choices), ErrorKind::internal, "{nobody}");
    ATHANOR_EXPECT_ERROR(story::expand("[a|b", {}, choices), ErrorKind::internal, "bracket");
  }

  void cancelling_leaves_nothing() {
    CancelToken cancel;
    cancel.request();
    QVERIFY_EXCEPTION_THROWN(write_story_corpus(path("none"), 1000, 1, cancel), Cancelled);
    QVERIFY(!std::filesystem::exists(path("none")));
  }
};

QTEST_APPLESS_MAIN(TestStoryCorpus)
#include "test_story_corpus.moc"
