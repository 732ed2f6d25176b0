// SPDX-License-Identifier: Apache-2.0
// Whether a run can go on with a plan that is not quite the recorded one.
#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

struct ResumeOptions {
    bool from_scratch = false;   ///< at step 0: the run's checkpoints do not count
    bool jump_is_meant = false;  ///< the learning rate may jump up because of added steps
};

/// An error says, in one sentence, what stands in the way and what to do:
///   a field that differs and may not (core/plan/fields.h says which and why), or another global batch;
///   checkpoints of which none is whole;
///   fewer steps than are done, or other text, another order of it or other weights beside the adapters than were
///   trained on, by the newest whole checkpoint;
///   a learning rate that would jump up because of added steps.
/// Reads every byte of that checkpoint and of the text. Changes nothing.
Result<void> check_resume(const RunLayout& run, const Plan& recorded, const Plan& wanted,
                          const ResumeOptions& options = {});

}  // namespace plimsoll
