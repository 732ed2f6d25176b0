// SPDX-License-Identifier: Apache-2.0
// A tensor that waits in host memory until it is needed again.
#pragma once

#include <c10/core/Event.h>
#include <torch/torch.h>

#include <memory>

namespace plimsoll::engine {

/// On an accelerator: a copy in pinned memory, made on a stream of its own while the device computes on; the tensor may
/// be let go at once. On a CPU, where there is no other memory, the tensor itself.
class HostCopy {
public:
    explicit HostCopy(const torch::Tensor& tensor);
    /// The tensor on its device, ordered before what the current stream does next.
    torch::Tensor fetch() const;

private:
    torch::Tensor host_;
    torch::Device device_;
    std::shared_ptr<c10::Event> copied_;  ///< null on CPUs
};

}  // namespace plimsoll::engine
