// SPDX-License-Identifier: GPL-3.0-or-later
// A layout in full: its time by part, its memory against the waterline, and a comparison with the plan's own.
#pragma once

#include <QPushButton>

#include "ui/planner/candidate_words.h"
#include "ui/widgets/card.h"

namespace plimsoll::ui {

class PartBars;
class TimeBar;
class WaterlineBarsView;
class WrapLabel;

class PlannerDetails : public Card {
    Q_OBJECT
public:
    explicit PlannerDetails(QWidget* parent = nullptr);

    /// Null: nothing is chosen.
    void setLayoutShown(const LayoutFigures* figures, const LayoutFigures& present, const PlanRequest& request);
    void setStale(bool stale);
    QPushButton* use() const { return use_; }
    TimeBar* time() const { return time_; }
    WaterlineBarsView* memory() const { return memory_; }
    QString beside() const;

signals:
    void useRequested();

private:
    void setTimeParts(const LayoutFigures& figures, const LayoutFigures& present, bool own);

    WrapLabel* words_;
    WrapLabel* beside_;
    WrapLabel* budget_;
    TimeBar* time_;
    PartBars* parts_;
    WaterlineBarsView* memory_;
    QPushButton* use_;
    bool chosen_ = false;
    bool stale_ = false;
};

}  // namespace plimsoll::ui
