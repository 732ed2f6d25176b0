// SPDX-License-Identifier: Apache-2.0
// The layers behind make_decoder(), with weights not yet set, and what their family calls them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/engine/layers/dropout.h"
#include "core/engine/layers/layers.h"
#include "core/engine/layers/recompute.h"
#include "core/engine/layers/side_loss.h"

namespace plimsoll::engine {

/// What a layer needs beside the residual stream.
struct LayerInput {
    Rotary::Table rotary;    ///< of the positions that attention sees on this rank
    torch::Tensor places;    ///< positions of the residual stream on this rank; undefined: the whole sequence
    std::int64_t whole = 0;  ///< length of the sequence
    DropoutKey key;          ///< of this layer
    std::optional<double> side_loss_scale;  ///< incoming gradient of router losses; none: no backward follows
};

class DecoderLayer : public torch::nn::Module {
public:
    /// x [batch, time, hidden], or this rank's part of the time.
    virtual WithSideLoss forward(const torch::Tensor& x, const LayerInput& input) const = 0;
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
                     const ModelContext& context, bool training, Replay* replay);

/// What a layer does twice: attention or the MLP with the dropout behind it. Owns what it captures. `replay`: null
/// where nothing is recomputed.
using Branch = std::function<WithSideLoss(const torch::Tensor& x, Replay* replay)>;

/// The norms of one of the two; empty: none there (model.norm_placement).
struct SublayerNorms {
    std::function<torch::Tensor(const torch::Tensor&)> before, behind;
};

/// x + behind(branch(before(x))), or with norms behind alone behind(a x + branch(x)) (NormPlacement). Under
/// Recompute::Mlp what stays of it is x and what the branch keeps.
WithSideLoss residual(const torch::Tensor& x, const Branch& branch, const SublayerNorms& norms,
                      const ModelContext& context, bool training);

/// Whether a branch skips products whose results are known or read only by the next sublayer: in its second run.
inline bool leaves_out(const Replay* replay) { return replay != nullptr && replay->second(); }

/// x, which the first run of a branch keeps. In the second run, where the given x is unread, the kept x.
torch::Tensor replayed(const torch::Tensor& x, Replay* replay);

}  // namespace plimsoll::engine
