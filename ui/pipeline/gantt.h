// SPDX-License-Identifier: GPL-3.0-or-later
// A pipeline's timeline: a row for each rank, a cell for each operation, bubbles hatched, each rank's idle time at the
// right.
#pragma once

#include <memory>
#include <QImage>

#include "ui/pipeline/gantt_rows.h"
#include "ui/pipeline/pipeline_why.h"
#include "ui/widgets/time_chart.h"

namespace plimsoll::ui {

class Gantt : public TimeChart {
    Q_OBJECT
public:
    explicit Gantt(QWidget* parent = nullptr);

    /// Null: nothing to draw.
    void setPipeline(std::shared_ptr<const Pipeline> pipeline);
    /// The predicted times of the same operations: drawn as outlines over the measured ones, and named beside them.
    void setPredicted(std::shared_ptr<const Pipeline> predicted);
    /// Shown in place of the rows while there is none.
    void setEmptyText(const QString& text);
    /// A limit on the height of all rows together, as far as they can still be told apart.
    void setMostHeight(double height);
    /// That of a chart on a page.
    static constexpr double mostHeight = 330;

    /// The rectangle in which an operation is drawn.
    QRectF cell(const TimedOp& op) const;
    /// The rectangle of an operation's prediction; empty without one.
    QRectF predictedCell(OpPlace place) const;
    /// The operation under a point; nullptr in a bubble.
    const TimedOp* opAt(const QPointF& at) const;
    /// The operation under the mouse, the one that it waited for, and so on.
    const std::vector<OpPlace>& chain() const { return chain_; }

    void writeTable(TableText& table) const override;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {240, sizeHint().height()}; }

protected:
    bool isEmpty() const override { return !pipeline_; }
    void spanChanged() override;
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    double pitch() const;
    double gap() const { return pitch() >= 16 ? 4 : pitch() >= 8 ? 1 : 0; }
    std::size_t rows() const { return pipeline_ ? pipeline_->timeline.ranks.size() : 0; }
    const TimedOp& at(OpPlace place) const;
    OpPlace placeOf(const TimedOp& op) const;
    const Causes& causes();
    void hover(const TimedOp* op);
    void step(int by, int rows);
    void explain(const TimedOp& op, const QPoint& global);
    void draw();
    void paintLabels(QPainter& painter) const;
    void paintChain(QPainter& painter) const;
    void paintPredicted(QPainter& painter) const;

    std::shared_ptr<const Pipeline> pipeline_;
    std::shared_ptr<const Pipeline> predicted_;
    QString empty_text_;
    QImage picture_;
    bool stale_ = true;
    double most_height_ = 220;
    const TimedOp* hovered_ = nullptr;
    std::optional<Causes> causes_;  ///< made when first asked for
    std::vector<OpPlace> chain_;
};

}  // namespace plimsoll::ui
