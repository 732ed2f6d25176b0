// SPDX-License-Identifier: Apache-2.0
// Trains a plan in a temporary folder for its records.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/run/run_folder.h"
#include "core/run/run_telemetry.h"

namespace plimsoll::cli {

/// Shows one line of progress on standard error, which replaces the line before on a terminal; "" removes it.
void show_progress(const std::string& text);

/// Trains the plan and, when the run has ended, passes `take` its records and its end (finished, or failed with its
/// reason). The folder is removed afterwards. Error where the run cannot start, after Ctrl-C (count_interrupts() has
/// been called), and where `take` gives one.
Result<void> run_shortly(const Plan& plan,
                         const std::function<Result<void>(const RunTelemetry& records, const RunState& end)>& take);

}  // namespace plimsoll::cli
