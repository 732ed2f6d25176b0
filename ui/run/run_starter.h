// SPDX-License-Identifier: GPL-3.0-or-later
// From the Train button to a run that has begun, or to the sentence that says what stands in its way.
#pragma once

#include <optional>
#include <QObject>
#include <QString>

#include "core/base/result.h"
#include "ui/common/background.h"
#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

/// What keeps a plan from being trained here, with the one action that helps.
struct Obstacle {
    QString sentence;
    QString key;               ///< the field to change, or ""
    std::optional<Plan> cure;  ///< a plan that can be trained here, or nothing
    QString cureName;          ///< "Plan it for this machine's CPU"
};

/// What can be told at once; nothing when the plan can be trained as far as the plan itself says.
std::optional<Obstacle> obstacleOf(const PlanModel& model);

/// Starts runs without holding the window up: the text is read on another thread.
class RunStarter : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// Checks, makes the run folder, starts the supervisor that outlives the studio. Ends with one of the signals.
    void start(const PlanModel& model);
    /// Goes on with a run that has ended, from its newest whole checkpoint. `steps`: in all; 0: as recorded. Where steps
    /// are added, `how` says how the learning rate goes on. Ends with one of the signals.
    void resume(const QString& runPath, std::int64_t steps = 0, LrExtension how = LrExtension::Constant);
    bool isStarting() const { return starting_.isBusy(); }

signals:
    void startingChanged();
    void started(const QString& runPath);
    void refused(const plimsoll::ui::Obstacle& obstacle);

private:
    void finish(const Result<QString>& run);

    Background starting_;
};

}  // namespace plimsoll::ui
