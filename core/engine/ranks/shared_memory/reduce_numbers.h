// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over ranks in an order that never changes.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <vector>

namespace plimsoll::engine {

enum class Reduction { Sum, Max };

/// fp64, fp32, bf16, fp16 and the integers that PyTorch's Gloo reduces.
bool can_reduce(c10::ScalarType dtype);

/// out[i] = sources[0][i] + sources[1][i] + …, added in this order, so that every rank that does it gets the same bits;
/// or their maximum, which is NaN where one of them is. Half-precision numbers are added in fp32 and rounded once.
/// There are two sources or more, and `out` may be one of them.
void reduce_numbers(Reduction reduction, c10::ScalarType dtype, std::byte* out,
                    const std::vector<const std::byte*>& sources, std::size_t count);

}  // namespace plimsoll::engine
