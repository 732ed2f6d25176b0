// SPDX-License-Identifier: GPL-3.0-or-later
// The steps that the plots of a page show together, and the step under the cursor.
#pragma once

#include <optional>
#include <QObject>

namespace plimsoll::ui {

/// A closed range of steps.
struct StepRange {
    double from = 0;
    double to = 1;
    double width() const { return to - from; }
    bool operator==(const StepRange&) const = default;
};

/// Shared by the plots of a page: zooming one zooms all, and the cursor stands at the same step in each.
/// It follows the run until somebody zooms or pans; follow() goes back.
class StepAxis : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// `latest`: the last recorded step. `total`: the run's planned end; 0: unknown.
    void setRun(double latest, double total);
    /// While following: from 0 to the smallest total / 2^k past the latest step, so that at least half the width is
    /// filled and the scale holds still between doublings.
    StepRange range() const { return range_; }
    /// From 0 to the planned end, or the latest step where that is further.
    StepRange whole() const;
    double latest() const { return latest_; }
    bool following() const { return following_; }

    /// Shows these steps and stops following. Ranges beyond the whole are moved inside; never narrower than 4 steps.
    void show(StepRange range);
    /// `factor` under 1 zooms in; the step `at` keeps its place.
    static StepRange zoomed(StepRange range, double factor, double at);
    static StepRange panned(StepRange range, double steps) { return {range.from + steps, range.to + steps}; }
    void follow();
    /// Puts the cursor at the step and pans until it is in view.
    void reveal(double step);

    std::optional<double> cursor() const { return cursor_; }
    void setCursor(std::optional<double> step);

signals:
    void changed();
    void cursorChanged();

private:
    StepRange followed() const;

    double latest_ = 0;
    double total_ = 0;
    StepRange range_;
    bool following_ = true;
    std::optional<double> cursor_;
};

}  // namespace plimsoll::ui
