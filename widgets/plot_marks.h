// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a plot shows besides curves: checkpoints, resumes, gaps, labels at curve ends, a forecast.

#include <qcustomplot.h>

#include <optional>

namespace athanor {

/// All positions are in axis coordinates.
struct PlotMarkings {
  struct Resume {
    double x = 0;
    QString label;
  };
  struct EndLabel {
    QPointF at;
    QString text;
    int series = 1;
  };
  struct Band {
    QPointF from;
    double x = 0;
    double low = 0;
    double high = 0;
    int series = 1;
  };
  /// A dot on a curve, with words above it.
  struct Peak {
    QPointF at;
    QString label;
  };
  QVector<double> checkpoints;
  QVector<Resume> resumes;
  QVector<QPointF> gaps;  ///< a cross; a y that is not a number puts it at the top
  QVector<EndLabel> endLabels;
  std::optional<Band> forecast;
  std::optional<Peak> peak;
  QString emptyText;  ///< centred when not empty
};

class PlotMarks : public QCPLayerable {
 public:
  PlotMarks(QCustomPlot* plot, const QString& layer);

  void setMarkings(const PlotMarkings& markings) { m_markings = markings; }
  /// Index of the checkpoint whose triangle lies under the position; −1 for none.
  int checkpointAt(const QPointF& position) const;

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  void draw(QCPPainter* painter) override;

 private:
  QPointF pixel(const QPointF& at) const;
  void drawBand(QCPPainter* painter) const;
  void drawCheckpoints(QCPPainter* painter) const;
  void drawResumes(QCPPainter* painter) const;
  void drawGaps(QCPPainter* painter) const;
  void drawPeak(QCPPainter* painter) const;
  void drawEndLabels(QCPPainter* painter) const;

  PlotMarkings m_markings;
};

}  // namespace athanor
