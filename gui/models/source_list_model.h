// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Where text comes from, as a table: one row a source, with what is known of it.

#include <QAbstractTableModel>
#include <optional>
#include <vector>

#include "engine/data/source_preview.h"

namespace athanor {

class SourceListModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { name, size, documents, weight, kColumns };

  struct Row {
    CorpusSource source;
    int ticket = 0;                        ///< of the question about it
    std::optional<SourcePreview> preview;  ///< absent until it is answered
  };

  using QAbstractTableModel::QAbstractTableModel;

  const std::vector<Row>& rows() const { return m_rows; }
  std::vector<CorpusSource> sources() const;
  void setSources(const std::vector<CorpusSource>& sources);
  void add(const CorpusSource& source);
  void remove(int row);
  /// Its preview is not known any more.
  void change(int row, const CorpusSource& source);
  void setWeight(int row, double times);
  /// For the row to be asked about; a preview with another ticket is not taken.
  int newTicket(int row);
  void setPreview(int ticket, const SourcePreview& preview);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  Row& at(int row) { return m_rows[static_cast<std::size_t>(row)]; }
  void tell(int row);

  std::vector<Row> m_rows;
  int m_tickets = 0;
};

}  // namespace athanor
