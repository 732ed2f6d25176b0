// SPDX-License-Identifier: Apache-2.0
// fp32 numbers as bf16, up or down at random with the mean of the exact number (Gupta et al. 2015, "Deep Learning with
// Limited Numerical Precision"; Zamirai et al. 2020, "Revisiting BFloat16 Training", section 3.2).
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

#include "core/engine/base/shard.h"

namespace plimsoll::engine {

/// The random bits of some numbers of a parameter: a hash of the key and of each number's place in the whole parameter,
/// so that they are the same under every layout, and again after a restart.
struct RoundingBits {
    std::uint64_t key = 0;
    const Shard& shard;      ///< this rank's slice of the whole parameter
    std::int64_t begin = 0;  ///< place of the first number in the flattened slice

    /// The key of one update of one parameter.
    static std::uint64_t key_of(std::uint64_t seed, const std::string& parameter, std::int64_t step);
};

/// Writes `exact` (fp32, flat) to `stored` (bf16, as long): with d the distance to the bf16 number nearer to zero, in
/// units of 2^-16 of the distance between it and the next one, |stored| is the next one where d + r >= 2^16, r a random
/// number of 16 bits. Numbers that are not finite stay so.
void round_stochastically(torch::Tensor stored, const torch::Tensor& exact, const RoundingBits& bits);

/// The same by tensor operations, as it is done on an accelerator; in pieces, with some MiB of scratch space.
void round_stochastically_by_tensors(torch::Tensor stored, const torch::Tensor& exact, const RoundingBits& bits);

}  // namespace plimsoll::engine
