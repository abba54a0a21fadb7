// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// An answer becomes a training example: edited where it was wrong, then added to a data set.

#include <QDialog>
#include <filesystem>

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace athanor {

class ExampleDialog : public QDialog {
  Q_OBJECT
 public:
  ExampleDialog(const std::filesystem::path& file, const QString& prompt, const QString& answer,
                QWidget* parent = nullptr);

  /// Where the example went, or would.
  std::filesystem::path file() const;

 private:
  void choose();
  void add();
  void updateButton();

  QPlainTextEdit* m_prompt;
  QPlainTextEdit* m_answer;
  QLineEdit* m_file;
  QLabel* m_problem;
  QPushButton* m_add;
};

}  // namespace athanor
