// SPDX-License-Identifier: Apache-2.0
// Faults that a developer injects into a run to see them detected and handled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

enum class FaultKind { Nan, Inf, Spike, Overflow, Oom, SlowRank };
inline constexpr std::array<std::string_view, 6> fault_names{"nan", "inf", "spike", "overflow", "oom", "slow-rank"};

/// A fault belongs to batches: the batches that step `step` and the `batches - 1` steps after it take first. A step
/// that takes one of these batches again has the fault again.
struct Fault {
    FaultKind kind = FaultKind::Nan;
    std::int64_t step = 1;      ///< from 1
    std::int64_t batches = 1;   ///< slow-rank has the fault in all steps from that step on
    std::int64_t layer = 0;     ///< nan, inf: the layer whose output has the fault; -1 is the embeddings
    bool backward = false;      ///< nan, inf: in the gradient of that output
    double factor = 100;        ///< spike: factor on all gradients
    std::int64_t rank = 0;      ///< oom, slow-rank
    double milliseconds = 100;  ///< slow-rank: delay of a step
};

/// "nan@step=5,layer=1,where=backward": a kind, then settings by name. Faults are separated by ";".
Result<std::vector<Fault>> parse_faults(std::string_view text);

/// Whether the batch that begins with sequence `samples`, on the way to step `step`, has the fault. The first batch
/// that has it fixes the fault's place for the rest of the run.
class FaultPlace {
public:
    explicit FaultPlace(const Fault& fault) : fault_(fault) {}
    bool meets(std::int64_t step, std::uint64_t samples, std::uint64_t global_batch);
    const Fault& fault() const { return fault_; }

private:
    Fault fault_;
    bool found_ = false;
    std::uint64_t first_ = 0;
};

}  // namespace plimsoll
