// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's releases, and what each one can read. The boundaries were read from the release sources.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// 0.minor.patch
struct DeepSpeedRelease {
    int minor = 0;
    int patch = 0;
    auto operator<=>(const DeepSpeedRelease&) const = default;

    std::string text() const;

    /// tensor_parallel.autotp_size: the model is sharded by deepspeed.initialize (PR 6922).
    bool auto_tensor_parallel(std::int64_t zero_stage) const {
        return *this >= (zero_stage == 3 ? DeepSpeedRelease{19, 4} : DeepSpeedRelease{16, 4});
    }
    /// expert_parallel.autoep_size, at every ZeRO stage.
    bool auto_expert_parallel() const { return *this >= DeepSpeedRelease{19, 3}; }
    /// bf16.check_grad_overflow; fp16 and bf16 refuse keys they do not know.
    bool strict_precision_blocks() const { return *this >= DeepSpeedRelease{17, 1}; }
    /// bf16.bf16_master_weights_and_grads and bf16.bf16_optimizer_states.
    bool bf16_without_masters() const { return *this >= DeepSpeedRelease{18, 3}; }
    /// torch_autocast.enabled and dtype.
    bool autocast() const { return *this >= DeepSpeedRelease{17, 2}; }
    /// The dynamic loss scale doubles after window + 1 clean steps; before, after window (PR 6976).
    bool scale_grows_after_window() const { return *this >= DeepSpeedRelease{17, 1}; }
    /// A warmup of 0 or less, or not a whole number, is refused; before, max(2, it) was taken (lr_schedules.py).
    bool refuses_no_warmup() const { return *this >= DeepSpeedRelease{19, 3}; }
    /// WarmupLR without warmup_max_lr rises to the optimizer's rate; before, to 0.001.
    bool warmup_follows_optimizer() const { return *this >= DeepSpeedRelease{17, 2}; }
    /// The cosine stays at its floor after total_num_steps; before, it rises again.
    bool cosine_stays_at_floor() const { return *this >= DeepSpeedRelease{19, 3}; }
};

/// "0.19.8", a release that can be exported for; the error names them.
Result<DeepSpeedRelease> deepspeed_release(const std::string& text);

/// "0.9.2", a release whose keys and checks are known (lint); the error names them.
Result<DeepSpeedRelease> known_deepspeed_release(const std::string& text);

/// The releases that can be exported for, newest first.
std::vector<std::string> deepspeed_releases();

}  // namespace plimsoll
