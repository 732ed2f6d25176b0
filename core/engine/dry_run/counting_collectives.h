// SPDX-License-Identifier: Apache-2.0
// A group of any size of which only one rank is there.
#pragma once

#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// The group of all ranks, seen by `rank`: every message is over at once and changes nothing. What a collective needs
/// besides its tensors is the backend's own memory (none on CPUs; NCCL's is not PyTorch's).
std::unique_ptr<Collectives> counting_collectives(int rank, int world_size);

}  // namespace plimsoll::engine
