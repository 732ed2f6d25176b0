// SPDX-License-Identifier: GPL-3.0-or-later
// The shown pipeline: the plan's, or one that a person tries out. A second pipeline for comparison and the figures that
// take longer follow a little later.
#pragma once

#include <memory>
#include <QObject>
#include <QTimer>

#include "core/schedule/plan_pipeline/advice.h"
#include "core/schedule/plan_pipeline/memory_curve.h"
#include "ui/pipeline/schedule_rows.h"

namespace plimsoll::ui {

class PlanModel;

class PipelineModel : public QObject {
    Q_OBJECT
public:
    explicit PipelineModel(PlanModel* plan, QObject* parent = nullptr);

    /// Nothing is simulated for a page that nobody sees.
    void setActive(bool active);

    const WhatIf& tried() const { return tried_; }
    bool isPlans() const { return is_plans_; }
    void tryOut(const WhatIf& tried);
    void backToPlan();
    /// One step of undo.
    void applyToPlan();

    std::shared_ptr<const Pipeline> shown() const { return shown_; }
    const MemoryCurve& live() const { return live_; }
    QString problem() const { return problem_; }  ///< why nothing is shown

    void compareWith(std::optional<Schedule> schedule);
    std::optional<Schedule> comparedSchedule() const { return compared_with_; }
    std::shared_ptr<const Pipeline> compared() const { return compared_; }
    QString comparedProblem() const { return compared_problem_; }

    // The following are computed when the person pauses.
    const QString& difference() const { return difference_; }
    const std::vector<Advice>& advice() const { return advice_; }
    const std::vector<Alternative>& rows() const { return rows_; }
    /// Activations of a micro-batch on the rank with most layers; 0 when unknown.
    double batchBytes() const;
    bool detailsPending() const { return details_.isActive(); }

signals:
    void changed();
    void detailsChanged();

private:
    void followPlan();
    void simulateShown();
    void simulateCompared();
    void compareSoon();
    void refresh();
    void nextDetail();

    PlanModel* plan_;
    bool active_ = false;
    bool stale_ = true;
    WhatIf own_;  ///< the plan's
    WhatIf tried_;
    bool is_plans_ = true;
    std::shared_ptr<const Pipeline> shown_;
    MemoryCurve live_;
    QString problem_;
    std::optional<Schedule> compared_with_;
    std::shared_ptr<const Pipeline> compared_;
    QString compared_problem_;
    QTimer details_;
    std::size_t detail_ = 0;  ///< of the details, which comes next
    QString difference_;
    std::vector<Advice> advice_;
    std::vector<Alternative> rows_;
};

}  // namespace plimsoll::ui
