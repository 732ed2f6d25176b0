// SPDX-License-Identifier: Apache-2.0
// What `plimsoll-worker --dry-run` prints.
#pragma once

#include "core/base/json.h"
#include "core/engine/dry_run/dry_run.h"

namespace plimsoll::engine {

/// {"rank", "peak", "peak_event", "phase", "categories": {name: bytes}, "reserved", "allocated", "requested",
///  "segments", "inactive_split", "retries" (null on the CPU), "out_of_memory": sentence or "", "out_of_memory_phase",
///  "host", "micro_batches", "events", "seconds", "standing": [{"layer", "op", "category", "phase", "count", "bytes"} …
///  at most `most`]}; sizes in bytes.
Json to_json(const DryRunResult& result, std::size_t most);

}  // namespace plimsoll::engine
