// SPDX-License-Identifier: Apache-2.0
// What a run trains on: the same on every rank, and the same when it is resumed.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/data/corpus.h"
#include "core/data/data_fingerprint.h"
#include "core/engine/ranks/collectives.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct RunInputs {
    DataFingerprint data;
    std::uint64_t weights = 0;  ///< weights_fingerprint() of those beside adapters; 0 without
};

/// Each rank tells the others what it has read; machines may hold other files under the same name. Error on every rank,
/// the same but for a rank whose own files could not be read, unless all have read the same. To be called by all ranks,
/// whatever became of their text.
Result<RunInputs> agree_on_inputs(const Result<Corpus>& corpus, const Plan& plan, Collectives& world);

}  // namespace plimsoll::engine
