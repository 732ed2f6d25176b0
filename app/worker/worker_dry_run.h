// SPDX-License-Identifier: Apache-2.0
// plimsoll-worker --dry-run: the memory of a step, without the memory.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace plimsoll::worker {

struct DryRunArguments {
    std::vector<int> ranks{0};
    std::string allocator_settings;
    Bytes capacity = 0;
    std::string timeline;  ///< a file for the first rank's timeline
    std::string trace;     ///< a file for the first rank's whole trace
    bool all_micro_batches = false;
};

/// The plan comes as JSON on standard input: alone, or as {"plan": …, "routing": {"0": [[rows of each expert] …]}} with
/// each rank's routing from the event "memory" of a real run.
Result<Json> dry_run(const DryRunArguments& arguments);

}  // namespace plimsoll::worker
