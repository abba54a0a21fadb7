// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A surface with a 1-px border and radius 6: title, right note and the content below.

#include <QFrame>
#include <QLabel>
#include <QVBoxLayout>

namespace athanor {

class Card : public QFrame {
  Q_OBJECT
 public:
  /// Without a title the header row is hidden until one or a note is set.
  explicit Card(const QString& title = {}, QWidget* parent = nullptr);

  void setTitle(const QString& title);
  void setNote(const QString& note);  ///< muted, at the right of the title
  /// A widget at the right of the header, after the note.
  void addHeaderWidget(QWidget* widget);
  /// Where content goes; margins 12/16 are the card's own, spacing 8.
  QVBoxLayout* content() const { return m_content; }
  /// A 1.5-px accent border, as on the proposal in use.
  void setHighlighted(bool highlighted);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void updateHeader();

  QWidget* m_header;
  QLabel* m_title;
  QLabel* m_note;
  QVBoxLayout* m_content;
  bool m_highlighted = false;
};

}  // namespace athanor
