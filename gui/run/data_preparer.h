// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Makes tokens of a run's sources beside the window's thread, as the run itself would, and tells
/// what came of it. A run with the same settings finds them ready.

#include <QObject>
#include <QString>
#include <QVector>
#include <filesystem>
#include <memory>

#include "engine/data/token_statistics.h"
#include "engine/data/tokenizer_comparison.h"
#include "engine/session/prepared_data.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"
#include "widgets/token_view.h"

namespace athanor {

/// A tokenizer beside others, on the beginning of the same text.
struct ComparedTokenizer {
  QString name;
  QString problem;  ///< why it could not be measured; mostly empty
  TokenizerMeasure measure;
};

struct DataReport {
  QString fingerprint;  ///< of the dataset
  CorpusCounts counts;
  std::int64_t validation_tokens = 0;
  TokenStatistics statistics;  ///< of the part that is trained on
  ComparedTokenizer tokenizer;
  /// The beginning of the first micro-batch: at most kShownRows rows of kShownTokens.
  QVector<QVector<ViewedToken>> batch;
  std::int64_t batch_rows = 0;  ///< of the whole
};

class DataPreparer : public QObject {
  Q_OBJECT
 public:
  static constexpr std::int64_t kShownRows = 8;
  static constexpr std::int64_t kShownTokens = 256;

  explicit DataPreparer(std::filesystem::path home, QObject* parent = nullptr);
  ~DataPreparer() override;

  bool busy() const { return m_busy; }
  /// Gives up what is being prepared and begins with this.
  void prepare(const RunSpec& spec);
  /// What is being prepared is no longer wanted.
  void drop();
  /// Of what was prepared last; answered by compared().
  void compare(const QString& path, const QString& pattern = {});

 signals:
  void busyChanged();
  void progressed(const athanor::CorpusProgress& progress);
  void prepared(const athanor::DataReport& report);
  void compared(const athanor::ComparedTokenizer& tokenizer);
  void failed(const QString& reason);

 private:
  void setBusy(bool busy);
  void work(int generation, const RunSpec& spec, const CancelToken& cancel);

  std::filesystem::path m_home;
  bool m_busy = false;
  int m_generation = 0;
  std::shared_ptr<CancelToken> m_cancel;
  std::string m_sample;  ///< on m_thread: the text that tokenizers are compared on
  Inbox m_inbox;
  TaskThread m_thread;
};

}  // namespace athanor
