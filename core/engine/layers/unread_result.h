// SPDX-License-Identifier: Apache-2.0
// Results that nobody reads: the autograd graph needs them as places that gradients pass through, not as numbers.
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// An unread result of that shape, without memory for its numbers: a single zero, expanded.
torch::Tensor left_out(at::IntArrayRef sizes, const torch::TensorOptions& options);
/// Whether x is an unread result, or a view of one.
bool is_left_out(const torch::Tensor& x);

/// `known`, in the place of the unread result `place`: gradients go on from there.
torch::Tensor stands_for(const torch::Tensor& place, const torch::Tensor& known);

/// a + b; unread where b is. Gradients go to both in either case.
torch::Tensor sum_of(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace plimsoll::engine
