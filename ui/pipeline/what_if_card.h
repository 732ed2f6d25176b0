// SPDX-License-Identifier: GPL-3.0-or-later
// Tries a pipeline out beside the plan's: schedule, shape and times; the plan changes only by "Apply to plan".
#pragma once

#include "ui/widgets/card.h"

class QComboBox;
class QPushButton;

namespace plimsoll::ui {

class PipelineModel;
class SliderRow;
class Switch;
struct WhatIf;

class WhatIfCard : public Card {
    Q_OBJECT
public:
    explicit WhatIfCard(PipelineModel* model, QWidget* parent = nullptr);

    QComboBox* schedule() const { return schedule_; }
    SliderRow* ranks() const { return ranks_; }
    SliderRow* microBatches() const { return micro_batches_; }
    Switch* planTimes() const { return plan_times_; }
    QPushButton* applyButton() const { return apply_; }
    QPushButton* backButton() const { return back_; }

private:
    SliderRow* addSlider(const QString& name, const QString& help, std::vector<double> stops,
                         void (*set)(WhatIf&, double));
    void addTimes();
    void addButtons();
    void refresh();

    PipelineModel* model_;
    QComboBox* schedule_;
    SliderRow *ranks_ = nullptr, *micro_batches_ = nullptr, *chunks_ = nullptr;
    Switch* plan_times_ = nullptr;
    SliderRow *forward_ = nullptr, *backward_input_ = nullptr, *backward_weight_ = nullptr, *send_ = nullptr;
    QPushButton *apply_ = nullptr, *back_ = nullptr;
};

}  // namespace plimsoll::ui
