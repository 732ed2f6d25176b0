// SPDX-License-Identifier: Apache-2.0
// A memory timeline as a file, which the dry run writes and the studio's chart reads.
//
//     {"plimsoll_timeline": 1, "plan": name, "rank": r, "device": "H100 SXM5 80GB" or "cpu", "events": n,
//      "peak": {"event": i, "bytes": b, "reserved": bytes or null, "categories": [bytes …],
//               "standing": [{"layer": "3", "op": "aten::mm", "category": c, "phase": "forward 0", "count": k,
//                             "bytes": b} …]},
//      "phases": [{"name": "forward 0", "event": i} …],
//      "categories": ["Parameters" …], "ops": ["aten::mm" …],
//      "series": {"event": [i …], "op": [index into ops …], "live": [[bytes …] for each category],
//                 "reserved": [bytes …] or null}}
//
// All sizes are bytes. `event` counts allocations and frees from the start of the measured step; each series has one
// number a point (at most about 4,000), at ascending events; in `standing`, `category` is an index into `categories`.
// `layer` is a number, "embed", "head" or "" (no layer).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/allocator/memory_timeline.h"
#include "core/base/json.h"

namespace plimsoll {

Json timeline_json(const MemoryTimeline& timeline);
/// Compact JSON, atomic.
Result<void> write_timeline(const std::filesystem::path& path, const MemoryTimeline& timeline);
/// `what` names the source in errors. Refused: another version, lists of unequal lengths, events out of order, indices
/// that point nowhere, negative sizes, more than 20,000 points or 100,000 groups.
Result<MemoryTimeline> timeline_from_json(const Json& json, const std::string& what);
Result<MemoryTimeline> read_timeline(const std::filesystem::path& path);

}  // namespace plimsoll
