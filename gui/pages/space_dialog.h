// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What runs and texts take on the disk, and what of it can go.

#include <QDialog>
#include <filesystem>
#include <functional>

#include "engine/session/disk_usage.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

class QLabel;
class QPushButton;
class QTableWidget;

namespace athanor {

class SpaceDialog : public QDialog {
  Q_OBJECT
 public:
  /// Measures at once; walking and removing are done beside the window's thread.
  explicit SpaceDialog(std::filesystem::path home, QWidget* parent = nullptr);
  ~SpaceDialog() override;

  const DiskUsage& usage() const { return m_usage; }

 signals:
  void measured();
  /// Checkpoints went: what others show of them is old.
  void cleaned();

 private:
  using Work = std::function<std::int64_t(RunStore& store)>;
  void measure(std::int64_t freed_bytes = 0);
  void clean(const Work& work);
  void show(const DiskUsage& usage, std::int64_t freed_bytes);
  void showProblem(const QString& problem);
  /// The chosen row's run, or every run where none is chosen.
  std::vector<std::int64_t> chosen() const;
  void updateButtons();

  std::filesystem::path m_home;
  DiskUsage m_usage;
  bool m_working = true;
  QLabel* m_summary;
  QTableWidget* m_table;
  QPushButton* m_older;
  QPushButton* m_abandoned;
  QPushButton* m_data;
  QLabel* m_said;
  CancelToken m_cancel;
  Inbox m_inbox;
  TaskThread m_thread;
};

}  // namespace athanor
