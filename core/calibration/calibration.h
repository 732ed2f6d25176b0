// SPDX-License-Identifier: Apache-2.0
// Later estimates learn from earlier runs.
#pragma once

#include <filesystem>

#include "core/calibration/peak_record.h"
#include "core/run/run_store.h"

namespace plimsoll {

/// Measured ÷ estimated over the newest runs on a device.
struct Calibration {
    int samples = 0;
    double median = 1, low = 1, high = 1;  ///< low and high: the least and the most
    /// The estimate of tensors times the median; the estimate itself without samples.
    Bytes applied_to(Bytes estimated) const;
};

/// The calibration from at most the 200 newest runs of the store that ran on `device`.
Calibration calibration_of(const std::string& device, const std::filesystem::path& store = runs_folder());

}  // namespace plimsoll
