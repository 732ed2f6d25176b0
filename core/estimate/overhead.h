// SPDX-License-Identifier: Apache-2.0
// What a GPU holds besides tensors.
#pragma once

#include <optional>

#include "core/estimate/estimate.h"

namespace plimsoll {

Term cuda_context_term();
/// One communicator a group of more than one rank; none where a single rank trains.
std::optional<Term> nccl_term(const Layout& layout);

}  // namespace plimsoll
