// SPDX-License-Identifier: Apache-2.0
// AdamW with fp32 master weights (Loshchilov & Hutter 2019; fused kernel of LibTorch).
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Decay only on matrices: parameters of fewer than two dimensions (biases, norms) are exempt. fp32 parameters are
/// their own masters; bf16 and fp16 ones get an fp32 copy that is updated and cast back.
class AdamW {
public:
    /// Made after the initial weights are set: masters are copied from the parameters here.
    AdamW(std::vector<std::pair<std::string, torch::Tensor>> named_parameters, const Optimizer& settings);

    /// One update from the parameters' .grad (already reduced, unscaled by `1/inv_scale` here and clipped by
    /// `clip_factor`): g' = g x inv_scale x clip_factor, taken in fp32. Advances the step count. The .grad tensors
    /// stay as they are; a parameter without one is left alone. Beside the states it needs 4 MiB.
    void step(double lr, double inv_scale, double clip_factor);
    std::int64_t steps() const { return steps_; }

    /// Named tensors for the checkpoint: "master/NAME" (half precision only), "exp_avg/NAME", "exp_avg_sq/NAME".
    /// They are the live tensors, not copies.
    std::vector<std::pair<std::string, torch::Tensor>> state() const;
    /// Copies from loaded tensors; error when one is missing, unknown, or has another shape or dtype. On an error
    /// nothing has changed.
    Result<void> load_state(const std::vector<std::pair<std::string, torch::Tensor>>& state, std::int64_t steps);

private:
    struct Slot {
        std::string name;
        torch::Tensor parameter, master, exp_avg, exp_avg_sq;
        bool decay = false;
    };
    void update(const Slot& slot, double lr, double factor, const torch::Tensor& step, torch::Tensor& scratch) const;

    std::vector<Slot> slots_;
    Optimizer settings_;
    std::int64_t steps_ = 0;
};

}  // namespace plimsoll::engine
