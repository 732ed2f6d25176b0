// SPDX-License-Identifier: Apache-2.0
// A plan trained in a temporary folder for what it records.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/run/run_folder.h"
#include "core/run/run_telemetry.h"

namespace plimsoll::cli {

/// One line of progress on standard error, in place of the one before on a terminal; "" takes it away.
void show_progress(const std::string& text);

/// Trains the plan and, when it is through, hands on all that was recorded with how it ended (finished, or failed with
/// its reason). The folder is gone afterwards. Error where it cannot start, after Ctrl-C (count_interrupts() has been
/// called), and what `take` gives.
Result<void> run_shortly(const Plan& plan,
                         const std::function<Result<void>(const RunTelemetry& records, const RunState& end)>& take);

}  // namespace plimsoll::cli
