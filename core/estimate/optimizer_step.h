// SPDX-License-Identifier: Apache-2.0
// What an optimizer's step allocates and frees besides its states.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/estimate/count.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// How an optimizer walks over the parameters: one kernel for all that it does to them (DeepSpeed's, Apex's and
/// Transformer Engine's FusedAdam, torch.optim fused=True), an operation over all of them at a time (torch.optim's
/// foreach, its default on GPUs), or a parameter at a time (torch.optim foreach=False).
enum class StepLoop { Fused, Foreach, Single };
inline constexpr std::array<std::string_view, 3> step_loop_names{"fused", "foreach", "single"};
inline constexpr std::string_view name_of(StepLoop loop) { return step_loop_names[static_cast<std::size_t>(loop)]; }
std::optional<StepLoop> find_step_loop(std::string_view name);

/// Bytes that a step of fp32 parameters allocates at its peak, besides gradients and states. Read in torch 2.11 and
/// measured there (tests/oracles/step_memory.json).
///
///     AdamW      foreach   4 B a parameter: the roots of the second moments (torch/optim/adam.py:791)
///                single    of one tensor the root and the denominator, 8 B (adam.py:546), and the denominator of the
///                          tensor before, 4 B, which lives until the next one replaces it
///     SGD        foreach   4 B a parameter with weight decay, which is added to a copy of the gradients (sgd.py:430)
///                single    4 B a number of one tensor with weight decay
///     Adafactor  always    a tensor at a time: its update and its square, like AdamW's single
///     fused, 8-bit AdamW (bitsandbytes) and LAMB (DeepSpeed's kernel) work in place
///
struct SteppedTensors {
    Count parameters;       ///< of all tensors
    Count largest;          ///< of the largest one
    bool repeated = false;  ///< another of that size stands before it
};
/// ZeRO's shard: one tensor.
inline SteppedTensors flat_tensor(Count parameters) { return {parameters, parameters, false}; }
Count step_temporaries(const Optimizer& optimizer, StepLoop loop, const SteppedTensors& tensors);

/// "4 B × 842,301,952"; empty where nothing is allocated.
std::string step_temporaries_text(const Optimizer& optimizer, StepLoop loop, const SteppedTensors& tensors);

}  // namespace plimsoll
