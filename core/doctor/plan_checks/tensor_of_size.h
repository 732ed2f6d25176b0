// SPDX-License-Identifier: Apache-2.0
// The tensor of a plan that a failed allocation was for, found by its size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll::doctor {

struct TensorSize {
    std::string what;  ///< "the logits in fp32 (b x s x vocabulary)"
    Bytes bytes = 0;
};
/// Tensors that a rank of the plan allocates in one piece, by name, largest first.
std::vector<TensorSize> tensor_sizes(const Plan& plan);

/// The nearest of tensor_sizes() within 1 % (messages of CUDA have two decimals); nothing where none is.
std::optional<TensorSize> tensor_of_size(const Plan& plan, Bytes bytes);

/// "tried to allocate 1125899906842688 bytes" (PyTorch on CPUs) or "Tried to allocate 2.00 GiB" (CUDA).
std::optional<Bytes> requested_bytes(const std::string& words);

}  // namespace plimsoll::doctor
