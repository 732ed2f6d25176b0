// SPDX-License-Identifier: Apache-2.0
// Initial weights.
#pragma once

#include <torch/torch.h>

#include "core/engine/base/shard.h"
#include "core/plan/model.h"

namespace plimsoll::engine {

/// Norm weights 1, biases 0; matrices are normal with a mean of 0 and, by model.init, the deviations
///
///     gpt2    init_std; those that write to the residual stream (o_proj, down_proj, c_proj, w2) smaller by
///             1 / sqrt(2 layers) (Radford 2019)
///     plain   init_std
///     guide   1 / sqrt(2 layers) where they write to the residual stream, 0.02 for q, k and v, 0 for an output head of
///             its own, init_std for the rest
///
/// With model.norm_placement deepnorm Xavier's, sqrt(2 / (in + out)), times (8 layers)^(-1/4) for the values, the
/// attention's output and the MLP (Wang 2022, 2203.00555, for decoders); embeddings and head as above. muP
/// (model.mup_base_width, Yang 2022, table 3): the layers' matrices by 1 / sqrt(width_factor), the head by 1 /
/// width_factor.
///
/// An adapter's A is uniform within ± 1 / sqrt(in) and its B is 0, as in PEFT.
///
/// The numbers of a parameter come from Philox 4x32-10 (Salmon 2011) keyed by (seed, name) with the element's place as
/// counter: the same whatever the order of construction, the layout, the ranks or the threads: a rank draws the whole
/// tensor and keeps its part. Parameters are fp32 on the CPU, all of ShardedModules.
void initialize(torch::nn::Module& module, const Model& model, std::uint64_t seed);

/// The initial numbers of one parameter: this rank's part, in fp32 on the CPU. `name`: the full name.
torch::Tensor initial_part(const std::string& name, const Shard& shard, const Model& model, std::uint64_t seed);

/// DeepNorm's factor on the residual stream: (2 layers)^(1/4).
double deepnorm_alpha(const Model& model);

/// muP's factor on the learning rate of a matrix (Adam): 1 / width_factor; 1 for embeddings.
double mup_rate(const Model& model, const std::string& name);

}  // namespace plimsoll::engine
