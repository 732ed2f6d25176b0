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

/// plimsoll bench --calibrate: short runs of small models, from whose step times the rates of this machine are fitted
/// and kept for step times and plans to come.
Result<int> calibrate(const CalibrateArguments& arguments);

}  // namespace plimsoll::cli
