// SPDX-License-Identifier: GPL-3.0-or-later
// What the Watch page says about a run, in words and figures.
#pragma once

#include <optional>
#include <QDateTime>
#include <QString>
#include <string>
#include <vector>

#include "core/telemetry/contract/event_kind.h"
#include "ui/run/run_model.h"

namespace plimsoll::ui {

/// Local time of seconds since the epoch.
QDateTime dateTime(double seconds);

QString runStatusText(RunStatus status);
/// "running on 2 ranks since 09:12", "finished on 2 ranks after 1 h 3 min".
QString statusWords(const RunModel& run);
/// Rich text: "step <b>3,104</b> of 5,000 · 62 % · <b>3 h 23 min</b> left".
QString progressWords(const RunModel& run);

/// What a person must know about a run that is not simply running or done, and what helps.
struct RunNotice {
    enum class Action { None, Train, ShowNewest, ShowLog, StopNow, Resume };
    QString sentence;
    Action action = Action::None;
    Action second = Action::None;  ///< beside it
    bool bad = false;
    bool loading = false;  ///< RunModel::loadProgress() goes with it
    bool empty = false;    ///< there are no plots to show
};
/// Nothing when all is well. `store_is_empty`: there is no run at all.
std::optional<RunNotice> noticeFor(const RunModel& run, bool store_is_empty);

/// Why the run ended, in the window's words: labels in place of keys, buttons in place of commands.
QString reasonWords(const RunState& state);

/// "Stopping: step 13 ends in about 14 s, then its checkpoint is saved."
QString waitWords(const StopWait& wait);

/// A short name for a flag in a plot.
QString eventLabel(const RecordedKind& kind);

}  // namespace plimsoll::ui
