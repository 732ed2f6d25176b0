// SPDX-License-Identifier: Apache-2.0
// Initial weights.
#pragma once

#include <torch/torch.h>

#include "core/engine/shard.h"
#include "core/plan/model.h"

namespace plimsoll::engine {

/// Matrices normal(0, init_std), those that write to the residual stream (o_proj, down_proj, c_proj) smaller by
/// 1 / sqrt(2 · layers), norm weights 1, biases 0 (GPT-2, Radford 2019). The numbers of a parameter come from
/// Philox 4x32-10 (Salmon 2011) keyed by (seed, name) with the element's place as counter: the same whatever the
/// order of construction, the layout, the ranks or the threads: a rank draws the whole tensor and keeps its part.
/// Parameters are fp32 on the CPU, all of ShardedModules.
void initialize(torch::nn::Module& module, const Model& model, std::uint64_t seed);

/// The same numbers of one parameter: this rank's part of it, in fp32 on the CPU. `name`: its full one.
torch::Tensor initial_part(const std::string& name, const Shard& shard, const Model& model, std::uint64_t seed);

}  // namespace plimsoll::engine
