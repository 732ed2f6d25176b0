// SPDX-License-Identifier: Apache-2.0
// The few places where the engine asks where a tensor lies, or reads its numbers. In a dry run (core/engine/dry_run)
// tensors have neither memory nor numbers: they stand for tensors of a CPU or a GPU rank.
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// What a tensor without memory stands for while it lives, on this thread.
class StandInScope {
public:
    explicit StandInScope(torch::DeviceType device);
    ~StandInScope();
    StandInScope(const StandInScope&) = delete;
    StandInScope& operator=(const StandInScope&) = delete;

private:
    torch::DeviceType before_;
};

/// Whether the tensors of a device lie in host memory, or stand for such.
bool on_cpu(torch::Device device);
inline bool on_cpu(const torch::Tensor& tensor) { return on_cpu(tensor.device()); }

/// The numbers on the host; zeros of a tensor that has none.
torch::Tensor host_values(const torch::Tensor& tensor);

}  // namespace plimsoll::engine
