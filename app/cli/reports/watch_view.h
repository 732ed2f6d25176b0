// SPDX-License-Identifier: Apache-2.0
// The lines of `plimsoll watch`: a run's state, its plots and its last events.
#pragma once

#include <string>
#include <vector>

#include "app/cli/terminal/terminal.h"
#include "core/run/run_telemetry.h"

namespace plimsoll::cli {

/// As many plots as fit into `size`, the most telling first.
std::vector<std::string> watch_view(const RunTelemetry& telemetry, const Result<RunState>& state, std::int64_t steps,
                                    TerminalSize size);

}  // namespace plimsoll::cli
