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
    /// The dynamic loss scale doubles after window + 1 clean steps; before, after window (PR 6976).
    bool scale_grows_after_window() const { return *this >= DeepSpeedRelease{17, 1}; }
    /// The cosine stays at its floor after total_num_steps; before, it rises again.
    bool cosine_stays_at_floor() const { return *this >= DeepSpeedRelease{19, 3}; }
};

/// "0.19.8"; the error names the known releases.
Result<DeepSpeedRelease> deepspeed_release(const std::string& text);

/// The releases that can be exported for, newest first.
std::vector<std::string> deepspeed_releases();

}  // namespace plimsoll
