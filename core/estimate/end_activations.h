// SPDX-License-Identifier: Apache-2.0
// Activations outside the layers. Used by the activation terms only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/estimate/terms.h"

namespace plimsoll {

/// A tensor kept outside the layers, for one micro-batch.
struct EndTensor {
    std::string_view what;
    Count bytes;
    bool head = false;  ///< freed once the head's backward is done
};

/// T5 has both ends in each of its two stacks, and targets once.
std::vector<EndTensor> end_tensors(const Plan& plan, const Slice& slice);
/// "1 in flight × (token ids 16,384 + …)".
std::string ends_formula(const Plan& plan, const Slice& slice, std::int64_t in_flight);

/// The head's part of a tied weight's gradient waits for the embedding's, until the end of the backward.
/// What the final norm's backward holds: RMSNorm works in fp32, which takes copies where the weights are of 16 bits.
/// With the norm's input, 22 B an element of the hidden state (counted on Plimsoll's engine). 0 for other norms and
/// dtypes.
Count final_norm_backward(const Plan& plan, const Slice& slice);
Count tied_gradient(const Plan& plan, const Slice& slice);

}  // namespace plimsoll
