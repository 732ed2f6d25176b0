// SPDX-License-Identifier: Apache-2.0
// Tensors that are spread over ranks, put together on one of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/engine/base/shard.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// What one rank gives of a whole tensor.
struct TensorPart {
    std::string name;
    Shard shard;
    torch::Tensor part;
};

/// Every rank gives its parts, each part of each tensor being given by one rank. Rank 0 gets the whole tensors on the
/// CPU, ordered by name; the others nothing. Messages are CPU tensors, so that no communicator of an accelerator is made
/// for them and a rank may wait for its turn as long as the others write.
Result<NamedTensors> gather_on_first_rank(const std::vector<TensorPart>& own, Collectives& world);

}  // namespace plimsoll::engine
