// SPDX-License-Identifier: Apache-2.0
// Efficiencies measured on this machine, which replace the general ones.
#pragma once

#include <filesystem>

#include "core/step_time/hardware.h"

namespace plimsoll {

/// Where `plimsoll bench --calibrate` keeps what it measured for a GPU of the catalogue, or "cpu":
/// NAME.json in $PLIMSOLL_CALIBRATION, or in $XDG_DATA_HOME/plimsoll/calibration, or
/// ~/.local/share/plimsoll/calibration.
std::filesystem::path calibration_path(const std::string& gpu);

/// Replaces rates of `hardware` by those of a calibration file: {"plimsoll_calibration": 1, "gpu": …, "efficiency":
/// {…}, "rates": {"peak", "memory", "node_link"}, "measured": "2026-11-30, 12 runs"}. An empty `file` means
/// calibration_path(), where that file exists. Error for a file that cannot be read, is for another GPU or holds
/// anything else.
Result<void> apply_calibration(const std::string& file, Hardware& hardware);
Result<void> write_calibration(const std::filesystem::path& file, const Hardware& hardware,
                               const std::string& measured);

/// The efficiency of a CPU rank before any calibration.
Efficiency cpu_efficiency();

}  // namespace plimsoll
