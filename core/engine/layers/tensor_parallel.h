// SPDX-License-Identifier: Apache-2.0
// The two crossings of tensor parallelism (Shoeybi 2019) and, with sequence parallelism, of Korthikanti 2022.
//
// Between the two crossings, one matrix is split by columns and the next by rows. A split by columns alone would need a
// gather of the outputs, a split by rows needs the sum of the products. In sequence only the sum remains: once in the
// forward pass (leave) and once in the backward pass (enter).
#pragma once

#include <torch/torch.h>

#include "core/engine/layers/model_context.h"

namespace plimsoll::engine {

/// Enters the split part. Plain: returns x; the gradient of x is summed over the tensor-parallel ranks.
/// Sequence-parallel: gathers x [batch, time / tp, …] to [batch, time, …]; the gradient is summed and cut
/// (reduce-scatter).
torch::Tensor enter_tensor_parallel(const torch::Tensor& x, const ModelContext& context);

/// Leaves the split part. Plain: the sum of x over the ranks. Sequence-parallel: this rank's part of the sum along
/// time. An unread x (unread_result.h) is not sent.
torch::Tensor leave_tensor_parallel(const torch::Tensor& x, const ModelContext& context);

/// Sum over the context-parallel ranks, no gradient.
torch::Tensor sum_over_context(torch::Tensor x, const ModelContext& context);

}  // namespace plimsoll::engine
