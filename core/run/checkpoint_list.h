// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a run as a list, without reading their tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

struct ListedCheckpoint {
    std::int64_t step = 0;
    std::filesystem::path path;
    Bytes bytes = 0;             ///< of all its files
    double saved = 0;            ///< seconds since the epoch, of its state.json
    std::optional<double> loss;  ///< of the last update before it; older checkpoints lack it
    bool complete = false;       ///< state.json is there and readable; the tensors' checksums are not looked at
    bool adapter = false;        ///< holds an adapter, not the model
};

/// Newest first.
std::vector<ListedCheckpoint> list_checkpoints(const RunLayout& run);

}  // namespace plimsoll
