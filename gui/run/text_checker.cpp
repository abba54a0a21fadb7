// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/text_checker.h"

#include <utility>

#include "engine/data/documents.h"
#include "engine/data/text_file.h"

namespace athanor {
namespace {

constexpr std::size_t kSample_bytes = 1500;
constexpr std::size_t kLongestWord_bytes = 80;
constexpr std::size_t kChunk_bytes = 1 << 20;

bool isSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

void count(std::string_view text, const CancelToken& cancel, TextReport& report) {
  char before = '\n';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % kChunk_bytes == 0) cancel.throw_if_requested();
    const char byte = text[i];
    if (byte == '\n') ++report.lines;
    // Every byte but UTF-8's continuation bytes begins a character.
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) ++report.characters;
    if (!isSpace(byte) && isSpace(before)) ++report.words;
    before = byte;
  }
  if (before != '\n') ++report.lines;
  DocumentWalker walker(text);
  for (std::string_view document; walker.next(document);)
    ++report.documents;
}

QString beginning(std::string_view text) {
  if (text.size() <= kSample_bytes) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
  }
  std::size_t end = kSample_bytes;
  while (end > kSample_bytes - kLongestWord_bytes && !isSpace(text[end]))
    --end;
  // A script without spaces is cut between two characters.
  if (!isSpace(text[end])) {
    end = kSample_bytes;
    while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
      --end;
  }
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(end)).trimmed() +
         QString::fromUtf8("…");
}

TextReport reportOn(const QString& path, const CancelToken& cancel,
                    const ProgressCallback& progress) {
  TextReport report;
  report.path = path;
  try {
    const TextFile file = TextFile::open(path.toStdString(), cancel, progress);
    report.size_bytes = static_cast<qint64>(file.text().size());
    count(file.text(), cancel, report);
    report.sample = beginning(file.text());
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    report.problem = QString::fromUtf8(error.what());
  }
  return report;
}

}  // namespace

TextChecker::TextChecker(QObject* parent)
    : QObject(parent), m_cancel(std::make_shared<CancelToken>()), m_thread("text") {}

TextChecker::~TextChecker() {
  m_cancel->request();
}

void TextChecker::check(const QString& path) {
  m_cancel->request();
  m_cancel = std::make_shared<CancelToken>();
  const int generation = ++m_generation;
  const auto progress = [this, generation](const std::string&, std::int64_t done,
                                           std::int64_t total) {
    m_inbox.post([this, generation, done, total] {
      if (generation == m_generation) emit progressed(done, total);
    });
  };
  m_thread.post([this, generation, path, cancel = m_cancel, progress] {
    try {
      TextReport report = reportOn(path, *cancel, progress);
      m_inbox.post([this, generation, report = std::move(report)] {
        if (generation == m_generation) emit checked(report);
      });
    } catch (const Cancelled&) {
      return;  // a newer file is wanted
    }
  });
}

}  // namespace athanor
