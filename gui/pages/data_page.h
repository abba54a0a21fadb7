// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A text to learn from: what is in it, whether it can be used, and how it begins.

#include <QWidget>

#include "gui/run/text_checker.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;

namespace athanor {

class Banner;
class Card;
class Figure;
class TextBlock;

class DataPage : public QWidget {
  Q_OBJECT
 public:
  explicit DataPage(QWidget* parent = nullptr);

  void check(const QString& path);

 signals:
  void useRequested(const QString& path);
  void checkedFile(const athanor::TextReport& report);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* makeReport();
  void choose();
  void showReport(const TextReport& report);

  TextReport m_report;
  QPushButton* m_use;
  Banner* m_banner;
  QStackedWidget* m_stack;
  QWidget* m_drop;
  QWidget* m_reading;
  QWidget* m_content;
  QProgressBar* m_progress;
  Card* m_facts;
  Figure* m_size;
  Figure* m_lines;
  Figure* m_characters;
  Figure* m_words;
  Figure* m_documents;
  QLabel* m_verdict;
  TextBlock* m_sample;
  TextChecker m_checker;
};

}  // namespace athanor
