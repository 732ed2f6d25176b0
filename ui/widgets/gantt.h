// SPDX-License-Identifier: GPL-3.0-or-later
// A pipeline's timeline: a row a stage, a cell a forward or backward of a micro-batch, idle time tinted.
#pragma once

#include <QPixmap>

#include "core/schedule/simulate.h"
#include "ui/widgets/chart.h"

namespace plimsoll::ui {

class Gantt : public Chart {
    Q_OBJECT
public:
    explicit Gantt(QWidget* parent = nullptr);

    /// Times are in forwards of a middle stage.
    void setTimeline(std::optional<Timeline> timeline);
    /// Shown in place of the rows while there is no timeline.
    void setEmptyText(const QString& text);

    /// Where an operation is drawn.
    QRectF cell(const TimedOp& op) const;
    /// The operation under a point; nullptr in a bubble.
    const TimedOp* opAt(const QPointF& at) const;

    void writeTable(TableText& table) const override;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {240, sizeHint().height()}; }

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    double rowPitch() const;
    double left() const;
    double xOf(double time) const;
    void paintRows(QPainter& painter) const;
    void paintAxis(QPainter& painter) const;

    std::optional<Timeline> timeline_;
    QString empty_text_;
    QPixmap picture_;
    bool stale_ = true;
    mutable double left_ = 0;  ///< 0: not measured yet
};

}  // namespace plimsoll::ui
