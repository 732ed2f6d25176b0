// SPDX-License-Identifier: Apache-2.0
// The collectives of ranks that meet in shared memory, in chunks, each rank reducing its own slice of a chunk straight
// from the others' slots (Rabenseifner's reduce-scatter and all-gather; DeepSpeed's csrc/cpu/comm/shm.cpp does it for
// whole tensors).
#pragma once

#include <torch/torch.h>

#include "core/engine/ranks/shared_memory/reduce_numbers.h"
#include "core/engine/ranks/shared_memory/shared_channel.h"

namespace plimsoll::engine {

/// Each is called by all ranks alike and returns when this rank's tensors may be used again. Tensors are contiguous. A
/// meeting fails when somebody has not come, and nobody has worked, for `patience`.
Met shared_all_reduce(SharedChannel& channel, Reduction reduction, const torch::Tensor& tensor,
                      const Patience& patience);
Met shared_all_gather(SharedChannel& channel, const torch::Tensor& output, const torch::Tensor& input,
                      const Patience& patience);
Met shared_reduce_scatter(SharedChannel& channel, const torch::Tensor& output, const torch::Tensor& input,
                          const Patience& patience);
Met shared_broadcast(SharedChannel& channel, const torch::Tensor& tensor, int root, const Patience& patience);

}  // namespace plimsoll::engine
