// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/resumable.h"

#include <QCoreApplication>

#include "ui/common/value_format.h"
#include "ui/run/run_model.h"

namespace plimsoll::ui {

namespace {

struct Resumable {
    Q_DECLARE_TR_FUNCTIONS(Resumable)
};

bool hasEnded(const RunSummary& run) {
    return run.readable && run.plan && !run.live && run.state.status >= RunStatus::Finished;
}

}  // namespace

RunSummary summaryOf(const RunModel& run) {
    RunSummary summary;
    summary.path = run.runPath().toStdString();
    summary.name = run.runName().toStdString();
    summary.plan = run.plan();
    summary.readable = run.state().started > 0;
    summary.state = run.state();
    summary.live = run.isLive();
    summary.step = run.step();
    return summary;
}

bool canResume(const RunSummary& run) {
    return hasEnded(run) && (run.state.status != RunStatus::Finished || run.step < run.plan->training.steps);
}

bool canExtend(const RunSummary& run) { return hasEnded(run) && run.step > 0; }

QString whyResumable(const RunSummary& run) {
    if (run.live) return Resumable::tr("The run is training");
    if (!hasEnded(run)) return Resumable::tr("The run's plan or state cannot be read");
    if (canResume(run))
        return Resumable::tr("Continues from the newest checkpoint to step %1")
            .arg(countText(run.plan->training.steps));
    return Resumable::tr("All %1 steps are done: continue with more steps").arg(countText(run.plan->training.steps));
}

}  // namespace plimsoll::ui
