// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/tokenizer_reader.h"

#include "engine/base/error.h"
#include "engine/data/tokenizer_description.h"
#include "engine/exchange/open_tokenizer.h"

namespace athanor {
namespace {

TokenizerReport reportOn(const std::string& path, const std::string& pattern) {
  TokenizerReport report;
  try {
    const Tokenizer tokenizer = open_tokenizer(path, pattern);
    report.tokens = tokenizer.vocabulary_size();
    report.padded = padded_vocabulary(tokenizer);
    report.endOfText = spelledSpecial(tokenizer, tokenizer.end_of_text());
  } catch (const Error& error) {
    report.problem = QString::fromStdString(error.message());
    report.wantsPattern = error.kind() == ErrorKind::invalid_argument;
  } catch (const std::exception& error) {
    report.problem = QString::fromUtf8(error.what());
  }
  return report;
}

}  // namespace

QString spelledSpecial(const Tokenizer& tokenizer, std::int32_t id) {
  for (const AddedToken& token : tokenizer.description().added)
    if (token.id == id) return QString::fromStdString(token.content);
  return {};
}

TokenizerReader::TokenizerReader(QObject* parent) : QObject(parent), m_thread("tokenizer") {}

void TokenizerReader::read(const QString& path, const QString& pattern) {
  const int generation = ++m_generation;
  m_thread.post([this, generation, path = path.toStdString(), pattern = pattern.toStdString()] {
    const TokenizerReport report = reportOn(path, pattern);
    m_inbox.post([this, generation, report] {
      if (generation == m_generation) emit answered(report);
    });
  });
}

}  // namespace athanor
