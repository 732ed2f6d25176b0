// SPDX-License-Identifier: Apache-2.0
// What autograd saves for the backward pass, kept in 8 bits (as ActNN, Chen et al. 2021, does) or in host memory.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

namespace plimsoll::engine {

struct SavedPolicy {
    bool compress = false;  ///< int8 in blocks (block_quantize.h)
    bool offload = false;   ///< host memory until the backward pass (host_copy.h)
    /// Smaller tensors are kept as they are. Above batch x heads x time, so are the statistics of norms and attention,
    /// which weigh little and take errors badly.
    std::int64_t min_elements = 1024;
    /// Kept as they are, and with them every view of them. Leaves that require a gradient are so without being named.
    std::vector<torch::Tensor> parameters;
};

/// While a scope lives, floating-point tensors that this thread saves for a backward pass are kept by the policy. The
/// backward pass may run later; tensors come back with their shape, dtype and strides. A tensor that several operations
/// save, also as views of the same numbers, is kept once. Tensors kept as they are stay under autograd's check against
/// in-place changes; packed tensors keep the values that they had when they were saved.
///
/// In 8 bits, the gradient of a small model with its first weights is off by about 1 % (L2 norm), and with weights ten
/// times as large by up to 7 %: what softmax makes of the errors grows with the scores. Under recomputation the inputs
/// of the recomputed body are kept this way.
///
/// Scopes nest; the inner one counts. Belongs around the layers and not around the loss, whose log-probabilities span
/// too many orders of magnitude for 8 bits. On a CPU, offload alone changes nothing.
class SavedTensors {
public:
    explicit SavedTensors(const SavedPolicy& policy);
    ~SavedTensors();
    SavedTensors(const SavedTensors&) = delete;
    SavedTensors& operator=(const SavedTensors&) = delete;

    class Keeper;

private:
    std::unique_ptr<Keeper> keeper_;
    Keeper* outer_;
};

}  // namespace plimsoll::engine
