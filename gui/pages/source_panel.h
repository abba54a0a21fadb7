// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The sources of text: which, how often each occurs, and what of a record is the text.

#include <QTimer>

#include "gui/models/source_list_model.h"
#include "gui/run/source_previewer.h"
#include "widgets/card.h"

class QComboBox;
class QLineEdit;
class QTableView;
class QToolButton;

namespace athanor {

class FormRow;
class NumberField;

class SourcePanel : public Card {
  Q_OBJECT
 public:
  explicit SourcePanel(QWidget* parent = nullptr);

  SourceListModel* model() { return &m_model; }
  void add(const QStringList& paths);
  void setSources(const std::vector<CorpusSource>& sources);
  /// All sources are looked into again.
  void setReadOptions(const ReadOptions& options);
  /// Of the chosen source; null until it is known.
  const SourcePreview* shown() const;
  void choose(int row);
  void askForFiles();
  void askForFolder();

 signals:
  /// The sources are other ones.
  void edited();
  /// What is known of the chosen one, or of any.
  void looked();

 private:
  void makeList();
  void makeForm();
  int chosen() const;
  void preview(int row);
  void showChosen();
  void takeForm();
  void removeChosen();

  SourceListModel m_model;
  ReadOptions m_options;
  QTimer m_typing;
  bool m_filling = false;  ///< the form shows what is, nobody types
  QTableView* m_table;
  QToolButton* m_remove;
  NumberField* m_weight;
  QComboBox* m_text;
  QComboBox* m_boundary;
  QLineEdit* m_separator;
  FormRow* m_weightRow;
  FormRow* m_textRow;
  FormRow* m_boundaryRow;
  FormRow* m_separatorRow;
  SourcePreviewer m_previewer;
};

}  // namespace athanor
