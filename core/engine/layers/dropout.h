// SPDX-License-Identifier: Apache-2.0
// Dropout whose masks depend on the sample, the layer and the place alone: the same under every layout, and again when
// an activation is recomputed.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace plimsoll::engine {

/// What the random numbers of one micro-batch in one layer come from.
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
/// positions of the sequence, `positions` ([time] int64) are theirs, of `whole` in all; undefined: all of them.
/// Keeps a mask for the backward: a byte a number, on the CPU one in the dtype of x. No cost for p = 0.
torch::Tensor dropout(const torch::Tensor& x, double p, const DropoutKey& key, DropoutSite site,
                      const torch::Tensor& positions = {}, std::int64_t whole = 0);

/// The same for attention probabilities [batch, heads, time, time]; the first of the heads is number `first_head`.
torch::Tensor attention_dropout(const torch::Tensor& x, double p, const DropoutKey& key, std::int64_t first_head);

/// What attention_dropout keeps of the rows `positions` ([rows] int64) of `heads` heads over `whole` keys, as bools
/// [batch, heads, rows, whole] where `like` lies: for attention that goes through the keys block by block. Each head's
/// mask is drawn whole, since a rank's part of it is not drawn apart.
torch::Tensor attention_mask(const torch::Tensor& like, std::int64_t heads, const torch::Tensor& positions,
                             std::int64_t whole, double p, const DropoutKey& key, std::int64_t first_head);

}  // namespace plimsoll::engine
