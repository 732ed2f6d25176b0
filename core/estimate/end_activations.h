// SPDX-License-Identifier: Apache-2.0
// Activations outside the layers. Used by the activation terms only.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/estimate/terms.h"

namespace plimsoll {

/// A tensor kept outside the layers, for one micro-batch.
struct EndTensor {
    std::string_view what;
    Count bytes;
    bool head = false;  ///< freed once the head's backward is done
};

/// A list of at most eight, on the stack.
struct EndTensors {
    std::array<EndTensor, 8> tensors;
    std::size_t count = 0;
    void push_back(EndTensor tensor) { tensors.at(count++) = tensor; }
    auto begin() const { return tensors.begin(); }
    auto end() const { return tensors.begin() + static_cast<std::ptrdiff_t>(count); }
};

/// T5 has both ends in each of its two stacks, and targets once.
EndTensors end_tensors(const Plan& plan, const Slice& slice);
/// "1 in flight × (token ids 16,384 + …)".
std::string ends_formula(const Plan& plan, const Slice& slice, std::int64_t in_flight);

/// The hidden state of one micro-batch on this rank, in bytes.
Count hidden_tensor(const Plan& plan);

/// What the final norm's backward holds: RMSNorm works in fp32, which takes copies where the weights are of 16 bits.
/// With the norm's input, 22 B an element of the hidden state (counted on Plimsoll's engine). 0 for other norms and
/// dtypes.
Count final_norm_backward(const Plan& plan, const Slice& slice);
/// The head's part of a tied weight's gradient waits for the embedding's, until the end of the backward.
Count tied_gradient(const Plan& plan, const Slice& slice);

}  // namespace plimsoll
