// SPDX-License-Identifier: Apache-2.0
// The layers behind make_decoder(), with weights not yet set, and what their family calls them.
#pragma once

#include <memory>
#include <string>

#include "core/engine/dropout.h"
#include "core/engine/layers.h"

namespace plimsoll::engine {

/// What a layer needs beside the residual stream.
struct LayerInput {
    Rotary::Table rotary;    ///< of the positions that attention sees on this rank
    torch::Tensor places;    ///< positions of the residual stream on this rank; undefined: the whole sequence
    std::int64_t whole = 0;  ///< length of the sequence
    DropoutKey key;          ///< of this layer
};

class DecoderLayer : public torch::nn::Module {
public:
    /// x [batch, time, hidden], or this rank's part of the time.
    virtual torch::Tensor forward(const torch::Tensor& x, const LayerInput& input) const = 0;
};

/// Names of transformers' modules.
struct FamilyNames {
    std::string body, embedding, positions, layers, norm;
};
FamilyNames names_of(Family family);

/// GPT2Block: LayerNorm, GELU or ReLU, biases everywhere.
std::shared_ptr<DecoderLayer> make_gpt2_layer(const ModelContext& context);
/// LlamaDecoderLayer, and its kin of Mistral, Qwen2 and Mixtral: RMSNorm, rotary positions, SwiGLU (Mixtral: routed
/// experts), grouped-query attention.
std::shared_ptr<DecoderLayer> make_llama_layer(const ModelContext& context);

/// Attention of either kind over this rank's heads and, with context parallelism, over the ring. q, k and v
/// [batch, time, heads, head].
torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, const LayerInput& input,
                     const ModelContext& context, bool training);

}  // namespace plimsoll::engine
