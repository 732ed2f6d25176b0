// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/framework.h"

#include <algorithm>

namespace plimsoll {

std::optional<Framework> find_framework(std::string_view name) {
    const auto found = std::find(framework_names.begin(), framework_names.end(), name);
    if (found == framework_names.end()) return std::nullopt;
    return static_cast<Framework>(found - framework_names.begin());
}

// Reserved ÷ allocated: torchtitan pull requests 165, 699 and 1690 (eager, FSDP2: 1.18 to 1.20, and 1.00 to 1.08 where
// full recomputation leaves few sizes), pull request 4153 and the 2024-12 and 2025-06 benchmark tables (compiled: 1.02
// to 1.12). Megatron-LM publishes allocated bytes only: the eager figure is used.
const Profile& profile_of(Framework framework) {
    static constexpr std::array<Profile, 5> profiles{{
        {"Plimsoll", "weights and gradients in the plan's dtype, fp32 masters and moments",
         "Plimsoll's engine, measured by its counting allocator", 115, 115, 106},
        {"DeepSpeed", "weights and gradients in the plan's dtype, fp32 masters and moments; reduce and gather buckets",
         "DeepSpeed 0.19: stage_1_and_2.py, stage3.py; its documented bucket sizes", 115, 115, 106},
        {"Megatron-LM",
         "16-bit weights, gradients in fp32 or 16 bits, fp32 masters and moments (6 + 12 / dp B, or 4 + 12 / dp)",
         "Megatron-LM: distrib_optimizer.py, param_and_grad_buffer.py; Transformer Engine's saved tensors", 115, 115,
         106},
        {"torchtitan (FSDP2)", "fp32 shards of weights, gradients and moments; bf16 weights while a layer computes",
         "torchtitan: parallelize.py, activation_checkpoint.py, loss.py; PyTorch FSDP2", 115, 110, 106},
        {"HF Trainer (DDP, autocast)", "fp32 weights, gradients and moments; a 16-bit copy of the weights in autocast",
         "transformers Trainer; documentation of model memory anatomy", 103, 103, 103},
    }};
    return profiles[static_cast<std::size_t>(framework)];
}

}  // namespace plimsoll
