// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {
thread_local torch::DeviceType stands_for = torch::kCPU;
}

StandInScope::StandInScope(torch::DeviceType device) : before_(stands_for) { stands_for = device; }
StandInScope::~StandInScope() { stands_for = before_; }

bool on_cpu(torch::Device device) { return device.is_cpu() || (device.is_meta() && stands_for == torch::kCPU); }

torch::Tensor host_values(const torch::Tensor& tensor) {
    if (!tensor.is_meta()) return tensor.to(torch::kCPU);
    return at::zeros(tensor.sizes(), tensor.options().device(torch::kCPU).requires_grad(false));
}

}  // namespace plimsoll::engine
