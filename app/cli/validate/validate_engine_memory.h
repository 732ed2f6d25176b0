// SPDX-License-Identifier: Apache-2.0
// plimsoll validate memory --engine: the engine's own peaks beside the predictions.
#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll::cli {

struct EngineMemoryArguments {
    bool engine = false;
    std::string only;
    std::size_t every = 1;  ///< one combination in so many
    bool json = false;
};

/// Trains each combination for two steps in a temporary folder, and prints the second step's peak of the fullest rank,
/// the closed form and the dry run (with experts: of the routing that took place, since the text decides it). Exit code
/// 1 when a dry run is off by more than 0.5 % or a closed form by more than 2 %.
Result<int> validate_engine_memory(const EngineMemoryArguments& arguments);

}  // namespace plimsoll::cli
