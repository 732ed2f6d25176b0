// SPDX-License-Identifier: Apache-2.0
// Dropout whose masks depend on the sample, the layer and the place alone: the same under every layout, and again when
// an activation is recomputed.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace plimsoll::engine {

/// The seed of the random numbers of one micro-batch in one layer.
struct DropoutKey {
    std::uint64_t seed = 0;
    std::shared_ptr<const std::vector<std::uint64_t>> samples;  ///< numbers of its sequences in the run
    std::int64_t layer = 0;

    /// A key drawn from torch's default generator, for batches without sample numbers.
    static DropoutKey drawn(std::int64_t sequences);
    DropoutKey in_layer(std::int64_t number) const {
        DropoutKey key = *this;
        key.layer = number;
        return key;
    }
};

enum class DropoutSite { Embedding, Attention, AttentionOutput, MlpOutput };

/// x [batch, time, hidden] with a share `p` zeroed and the others scaled by 1 / (1 - p). Where x holds only some
/// positions of a sequence of `whole` positions, `positions` ([time] int64) names them; undefined: all positions. A
/// mask is kept for the backward pass: one byte per number, on the CPU one number in the dtype of x. p = 0 costs
/// nothing.
torch::Tensor dropout(const torch::Tensor& x, double p, const DropoutKey& key, DropoutSite site,
                      const torch::Tensor& positions = {}, std::int64_t whole = 0);

/// The same for attention probabilities [batch, heads, time, time]; `first_head` is the model-wide number of the first
/// head.
torch::Tensor attention_dropout(const torch::Tensor& x, double p, const DropoutKey& key, std::int64_t first_head);

/// The mask of attention_dropout() for rows `positions` ([rows] int64) of `heads` heads over `whole` keys, as bools
/// [batch, heads, rows, whole] on the device of `like`: for attention that goes through the keys block by block. Each
/// head's whole mask is drawn, and the rows are taken from it.
torch::Tensor attention_mask(const torch::Tensor& like, std::int64_t heads, const torch::Tensor& positions,
                             std::int64_t whole, double p, const DropoutKey& key, std::int64_t first_head);

}  // namespace plimsoll::engine
