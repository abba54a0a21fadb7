// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Read-only running text in 22-px lines that is as high as its content; selectable, for chat and
/// samples.

#include <QTextEdit>

namespace athanor {

class TextBlock : public QTextEdit {
  Q_OBJECT
 public:
  explicit TextBlock(QWidget* parent = nullptr);

  /// Plain text; `mutedPrefix` leading characters are muted, as a sample's prompt is.
  void setContent(const QString& text, int mutedPrefix = 0);
  void appendContent(const QString& chunk);
  QString content() const;
  /// Width in px the text would take on lines of its own, for bubbles.
  int naturalWidth() const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void fitHeight();
  void recolour();

  int m_mutedPrefix = 0;
};

}  // namespace athanor
