// SPDX-License-Identifier: GPL-3.0-or-later
// The legend of a Gantt chart's colours.
#pragma once

#include <QWidget>

namespace plimsoll::ui {

class GanttLegend : public QWidget {
    Q_OBJECT
public:
    explicit GanttLegend(QWidget* parent = nullptr);
    /// Explains only the colours that are drawn.
    void setShown(bool weights, bool chunks);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {80, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    enum class Key { Forward, Backward, Weight, Idle, Chunk };
    QList<std::pair<Key, QString>> keys() const;

    bool weights_ = false, chunks_ = false;
};

}  // namespace plimsoll::ui
