// SPDX-License-Identifier: Apache-2.0
// The numbers of a tensor, put away in 8 bits or in host memory, and the tensor made of them again.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

#include "core/engine/memory/host_copy.h"

namespace plimsoll::engine {

/// How a tensor lies on its numbers: which of its dimensions repeat them (stride 0), and whether the rest leaves gaps
/// in memory.
class TensorLayout {
public:
    explicit TensorLayout(const torch::Tensor& tensor);

    /// The tensor with each number once.
    const torch::Tensor& once() const { return once_; }
    /// Its numbers leave no gaps: all views of them have the same flat().
    bool dense() const { return dense_; }
    /// In the order of memory where they leave no gaps, else gathered.
    torch::Tensor flat() const;

    /// Sizes and strides without a tensor.
    struct Shape {
        std::vector<std::int64_t> sizes, once_sizes;
        std::optional<std::vector<std::int64_t>> once_strides;  ///< none: one row after another
        /// The tensor as it was, over what flat() gave.
        torch::Tensor over(const torch::Tensor& flat) const;
    };
    Shape shape() const;

private:
    std::vector<std::int64_t> sizes_;
    torch::Tensor once_;
    bool dense_;
};

/// A flat tensor, put away.
class PackedNumbers {
public:
    /// `compress`: int8 in blocks (block_quantize.h); `offload`: on the host (host_copy.h).
    PackedNumbers(const torch::Tensor& flat, bool compress, bool offload);
    torch::Tensor restored() const;

private:
    torch::ScalarType dtype_;
    std::vector<torch::Tensor> tensors_;
    std::vector<HostCopy> copies_;  ///< instead of tensors_
};

}  // namespace plimsoll::engine
