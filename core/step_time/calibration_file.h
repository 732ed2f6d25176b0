// SPDX-License-Identifier: Apache-2.0
// Efficiencies measured on this machine, which take the place of the general ones.
#pragma once

#include <filesystem>

#include "core/step_time/hardware.h"

namespace plimsoll {

/// Where `plimsoll bench --calibrate` keeps what it measured for a GPU of the catalogue, or "cpu":
/// NAME.json in $PLIMSOLL_CALIBRATION, or in $XDG_DATA_HOME/plimsoll/calibration, or
/// ~/.local/share/plimsoll/calibration.
std::filesystem::path calibration_path(const std::string& gpu);

/// Takes the rates of a calibration file over `hardware`: {"plimsoll_calibration": 1, "gpu": …, "efficiency": {…},
/// "rates": {"peak", "memory", "node_link"}, "measured": "2026-11-30, 12 runs"}. `file` empty: calibration_path() where
/// there is such a file. Error for a file that cannot be read, is for another GPU or holds anything else.
Result<void> apply_calibration(const std::string& file, Hardware& hardware);
Result<void> write_calibration(const std::filesystem::path& file, const Hardware& hardware,
                               const std::string& measured);

/// Of a rank on the CPU, before any calibration.
Efficiency cpu_efficiency();

}  // namespace plimsoll
