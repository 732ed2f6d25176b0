// SPDX-License-Identifier: GPL-3.0-or-later
// The time of a step by part: one stacked bar, the names under it.
#pragma once

#include "ui/waterline/time_parts.h"
#include "ui/widgets/chart.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

/// Computing is green, links are blue, waiting is hatched, recomputation orange.
QColor timePartColour(const Theme& theme, TimePart part);

class TimeBar : public Chart {
    Q_OBJECT
public:
    explicit TimeBar(QWidget* parent = nullptr);

    /// Drawn against `whole` seconds; 0: the step fills the width.
    void setTime(const StepTime& time, Seconds whole = 0);
    const StepTime& time() const { return time_; }
    /// The rectangle of a part; empty for a part that takes no time.
    QRectF segment(TimePart part) const;

    void writeTable(TableText& table) const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override { return {300, heightForWidth(300)}; }
    QSize minimumSizeHint() const override { return {120, static_cast<int>(barHeight)}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    static constexpr double barHeight = 18;
    struct Name {
        TimeShare share;
        QRectF place;
        QString text;
    };
    QList<Name> names(double width) const;

    StepTime time_;
    QList<TimeShare> shares_;
    Seconds whole_ = 0;
};

}  // namespace plimsoll::ui
