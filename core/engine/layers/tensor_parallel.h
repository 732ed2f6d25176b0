// SPDX-License-Identifier: Apache-2.0
// The two crossings of tensor parallelism (Shoeybi 2019) and, with sequence parallelism, of Korthikanti 2022.
//
// Between them lies what is split over ranks: the columns of one matrix and the rows of the next. Splitting columns
// would need a gather of the outputs, splitting rows needs the sum of the products; one after the other only the sum is
// left, once in the forward (leave) and once in the backward (enter).
#pragma once

#include <torch/torch.h>

#include "core/engine/layers/model_context.h"

namespace plimsoll::engine {

/// Into the split part. Plain: x itself, whose gradient is summed over the tensor-parallel ranks. Sequence-parallel: x
/// [batch, time / tp, …] gathered to [batch, time, …]; its gradient is summed and cut (reduce-scatter).
torch::Tensor enter_tensor_parallel(const torch::Tensor& x, const ModelContext& context);

/// Out of it. Plain: the sum of x over the ranks. Sequence-parallel: this rank's part of the sum along time. Of what is
/// left out (left_out.h) nothing is sent.
torch::Tensor leave_tensor_parallel(const torch::Tensor& x, const ModelContext& context);

/// Sum over the context-parallel ranks, no gradient.
torch::Tensor sum_over_context(torch::Tensor x, const ModelContext& context);

}  // namespace plimsoll::engine
