// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A line of text that is cut where room ends, with the whole of it as its tooltip then.

#include <QLabel>

namespace athanor {

class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit ElidedLabel(QWidget* parent = nullptr);

  void setText(const QString& text);
  /// The whole of it.
  const QString& fullText() const { return m_text; }

  QSize minimumSizeHint() const override;
  QSize sizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void elide();

  QString m_text;
};

}  // namespace athanor
