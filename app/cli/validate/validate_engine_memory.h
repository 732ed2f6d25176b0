// SPDX-License-Identifier: Apache-2.0
// plimsoll validate memory --engine: the engine's own peaks beside what was predicted.
#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll::cli {

struct EngineMemoryArguments {
    bool engine = false;
    std::string only;
    std::size_t every = 1;  ///< of those, one in so many
    bool json = false;
};

/// Trains each combination for two steps in a temporary folder, and prints the second step's peak of the fullest rank,
/// the closed form and the dry run (with experts: of the
/// routing that took place, since tokens go where the text sends them). Exit code 1 when a dry run is off by more than
/// 0.5 % or a closed form by more than 2 %.
Result<int> validate_engine_memory(const EngineMemoryArguments& arguments);

}  // namespace plimsoll::cli
