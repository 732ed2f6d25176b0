// SPDX-License-Identifier: Apache-2.0
// Results that nobody reads: they are needed as places in the graph that gradients go through, not as numbers.
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// A tensor of that shape without memory for it: one zero, seen from everywhere.
torch::Tensor left_out(at::IntArrayRef sizes, const torch::TensorOptions& options);
/// Whether x is one, or a view of one.
bool is_left_out(const torch::Tensor& x);

/// `known`, as the result of what led to `place`, which is left out: gradients go on from there.
torch::Tensor stands_for(const torch::Tensor& place, const torch::Tensor& known);

/// a + b; left out where b is. Gradients go to both either way.
torch::Tensor sum_of(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace plimsoll::engine
