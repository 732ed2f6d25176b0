// SPDX-License-Identifier: Apache-2.0
// The tensors of one layer that autograd keeps on a GPU under other frameworks.
#pragma once

#include <string>
#include <vector>

#include "core/frameworks/workload.h"

namespace plimsoll {

struct KeptTensor {
    std::string what;
    Count bytes;
};

enum class Block { Decoder, Routed, T5Decoder, Encoder };

/// One layer's tensors for one micro-batch on one tensor-parallel rank, as PyTorch and Transformer Engine keep them:
/// the norms' inputs and outputs, q, k and v, the attention core (eager: softmax output, and with dropout its mask and
/// output; flash: log-sum-exp), the inputs of the projections, the MLP's inner tensors, dropout masks of 1 B. A GPT-2
/// block comes out as in Korthikanti et al. 2022, table 2. Latent attention keeps its low ranks and the whole queries,
/// keys and values. A routed layer keeps its tokens as they were sent to the experts (K of each, evenly routed),
/// the experts' inner tensors and their outputs.
std::vector<KeptTensor> layer_tensors(const Workload& work, Block block);

Count sum(const std::vector<KeptTensor>& tensors);
/// "norm input 16,384 + q, k and v 49,152".
std::string written_out(const std::vector<KeptTensor>& tensors);

/// Bytes of the layer's input, which full recomputation keeps.
Count layer_input(const Workload& work);

}  // namespace plimsoll
