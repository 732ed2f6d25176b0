// SPDX-License-Identifier: Apache-2.0
// What a run says of itself before its first step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/data/corpus.h"
#include "core/engine/train/reporter.h"
#include "core/engine/train/step_record.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct RunFacts {
    std::string device;             ///< "cpu", "cuda:0"
    std::string device_for_person;  ///< "CPU", the GPU's name
    std::size_t buckets = 0;        ///< of gradients
    int world_size = 1;
    std::optional<std::int64_t> resumed_from;  ///< step of the checkpoint
    std::int64_t planned_steps = 0;            ///< of the run when it was made; 0: not known
    RunPosition position;
};

/// The event "start" or "resume".
Result<void> announce(Reporter& reporter, const Plan& plan, const Corpus& corpus, const RunFacts& facts);

}  // namespace plimsoll::engine
