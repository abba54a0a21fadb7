// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/data_preparer.h"

#include <QFileInfo>
#include <algorithm>
#include <functional>
#include <utility>

#include "engine/exchange/open_tokenizer.h"
#include "gui/run/tokenizer_reader.h"

namespace athanor {
namespace {

/// Of the text that is trained on, its beginning.
constexpr std::int64_t kSample_tokens = 200'000;

std::string sampleOf(const TokenShard& shard, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(kSample_tokens, shard.tokens())));
  shard.read(0, ids);
  return tokenizer.decode(ids);
}

ViewedToken viewed(const HostBatch& batch, const Tokenizer& tokenizer, std::int64_t row,
                   std::int64_t column) {
  const auto at = static_cast<std::size_t>(row * batch.context + column);
  const std::int32_t id = batch.tokens[at];
  const std::string_view bytes = tokenizer.token_bytes(id);
  return {.text = bytes.empty()
                      ? spelledSpecial(tokenizer, id)
                      : QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size())),
          .id = id,
          // What stands first in a row is given; nothing before it could predict it.
          .trained = column > 0 && batch.targets[at - 1] >= 0,
          .begins = column > 0 && batch.document_starts[at] == column};
}

QVector<QVector<ViewedToken>> viewed(const HostBatch& batch, const Tokenizer& tokenizer) {
  QVector<QVector<ViewedToken>> rows;
  for (std::int64_t row = 0; row < std::min(batch.rows, DataPreparer::kShownRows); ++row) {
    QVector<ViewedToken> tokens;
    for (std::int64_t i = 0; i < std::min(batch.context, DataPreparer::kShownTokens); ++i)
      tokens << viewed(batch, tokenizer, row, i);
    rows << tokens;
  }
  return rows;
}

QString nameOf(const RunSpec& spec) {
  if (spec.data.tokenizer.empty()) return DataPreparer::tr("Learnt from this text");
  return QFileInfo(QString::fromStdString(spec.data.tokenizer)).fileName();
}

}  // namespace

DataPreparer::DataPreparer(std::filesystem::path home, QObject* parent)
    : QObject(parent),
      m_home(std::move(home)),
      m_cancel(std::make_shared<CancelToken>()),
      m_thread("data") {}

DataPreparer::~DataPreparer() {
  m_cancel->request();
}

void DataPreparer::setBusy(bool busy) {
  if (busy == m_busy) return;
  m_busy = busy;
  emit busyChanged();
}

void DataPreparer::drop() {
  m_cancel->request();
  ++m_generation;
  setBusy(false);
}

void DataPreparer::prepare(const RunSpec& spec) {
  m_cancel->request();
  m_cancel = std::make_shared<CancelToken>();
  setBusy(true);
  m_thread.post([this, generation = ++m_generation, spec, cancel = m_cancel] {
    std::function<void()> told = [] {};
    try {
      work(generation, spec, *cancel);
    } catch (const Cancelled&) {
    } catch (const std::exception& error) {
      told = [this, reason = QString::fromUtf8(error.what())] { emit failed(reason); };
    }
    m_inbox.post([this, generation, told] {
      if (generation != m_generation) return;
      setBusy(false);
      told();
    });
  });
}

void DataPreparer::work(int generation, const RunSpec& spec, const CancelToken& cancel) {
  const auto tell = [this, generation](const CorpusProgress& progress) {
    m_inbox.post([this, generation, progress] {
      if (generation == m_generation) emit progressed(progress);
    });
  };
  const auto stage = [&tell](const std::string& what, std::int64_t done, std::int64_t total) {
    tell({.stage = what, .done_bytes = done, .total_bytes = total, .counts = {}});
  };
  const PreparedData data = prepare_data(m_home, spec, cancel, stage, tell);
  const std::int32_t end = data.tokenizer.end_of_text();
  DataReport report{.fingerprint = QString::fromStdString(data.fingerprint),
                    .counts = data.counts,
                    .validation_tokens = data.validation.tokens(),
                    .statistics = token_statistics(data.train, end, spec.model.context, cancel),
                    .tokenizer = {.name = nameOf(spec), .problem = {}, .measure = {}},
                    .batch = {},
                    .batch_rows = spec.train.micro_batch};
  const HostBatch batch =
      first_batch(data.train, end, std::min(spec.train.micro_batch, kShownRows), spec.model.context,
                  static_cast<std::uint64_t>(spec.train.seed));
  report.batch = viewed(batch, data.tokenizer);
  m_sample = sampleOf(data.train, data.tokenizer);
  report.tokenizer.measure = measure_tokenizer(data.tokenizer, m_sample, cancel);
  m_inbox.post([this, generation, report] {
    if (generation == m_generation) emit prepared(report);
  });
}

void DataPreparer::compare(const QString& path, const QString& pattern) {
  if (m_cancel->requested()) m_cancel = std::make_shared<CancelToken>();
  m_thread.post([this, path, pattern, cancel = m_cancel] {
    ComparedTokenizer made{.name = QFileInfo(path).fileName(), .problem = {}, .measure = {}};
    try {
      const Tokenizer tokenizer = open_tokenizer(path.toStdString(), pattern.toStdString());
      made.measure = measure_tokenizer(tokenizer, m_sample, *cancel);
    } catch (const Cancelled&) {
      return;
    } catch (const std::exception& error) {
      made.problem = QString::fromUtf8(error.what());
    }
    m_inbox.post([this, made] { emit compared(made); });
  });
}

}  // namespace athanor
