// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A folded group of settings: chevron, title, and its values at the right while folded.

#include <QString>
#include <QVBoxLayout>
#include <QWidget>

class QAbstractButton;

namespace athanor {

class Collapsible : public QWidget {
  Q_OBJECT
 public:
  explicit Collapsible(const QString& title, QWidget* parent = nullptr);

  QVBoxLayout* content() const { return m_content; }
  void setSummary(const QString& summary);  ///< for example "4e-4, cosine"
  bool isExpanded() const;
  void setExpanded(bool expanded);

 signals:
  void expandedChanged(bool expanded);

 private:
  QAbstractButton* m_header;
  QWidget* m_body;
  QVBoxLayout* m_content;
};

}  // namespace athanor
