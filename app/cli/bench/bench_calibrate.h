// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace plimsoll::cli {

struct CalibrateArguments {
    bool calibrate = false;
    std::string gpu = "cpu";  ///< "cpu", or a GPU of this machine
    std::int64_t steps = 8, rounds = 2;
    bool json = false;
};

/// plimsoll bench --calibrate: fits this machine's rates to the step times of short runs of small models, and keeps
/// them for later predictions and plans.
Result<int> calibrate(const CalibrateArguments& arguments);

}  // namespace plimsoll::cli
