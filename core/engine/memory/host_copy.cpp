// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/host_copy.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/core/StreamGuard.h>

#include <map>

#include "core/engine/memory/host_values.h"
#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

namespace {

/// This thread's stream for copies from a device.
c10::Stream copy_stream(torch::Device device) {
    thread_local std::map<c10::DeviceIndex, c10::Stream> streams;
    auto found = streams.find(device.index());
    if (found == streams.end()) {
        const c10::impl::VirtualGuardImpl guard(device.type());
        found = streams.emplace(device.index(), guard.getStreamFromGlobalPool(device)).first;
    }
    return found->second;
}

}  // namespace

HostCopy::HostCopy(const torch::Tensor& tensor) : device_(tensor.device()) {
    if (on_cpu(device_)) {
        host_ = tensor;
        return;
    }
    if (device_.is_meta()) {
        const HostMemoryScope host;
        host_ = at::empty(tensor.sizes(), tensor.options());
        return;
    }
    const c10::impl::VirtualGuardImpl guard(device_.type());
    const c10::Stream stream = copy_stream(device_);
    c10::Event written(device_.type());
    written.record(guard.getStream(device_));
    written.block(stream);
    host_ = at::empty(tensor.sizes(), tensor.options().device(torch::kCPU).pinned_memory(true));
    {
        const c10::StreamGuard on_stream(stream);
        host_.copy_(tensor, /*non_blocking=*/true);
    }
    copied_ = std::make_shared<c10::Event>(device_.type());
    copied_->record(stream);
    // The allocator reuses the memory only after the copy.
    guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
}

torch::Tensor HostCopy::fetch() const {
    if (device_.is_meta() && !on_cpu(device_)) return at::empty(host_.sizes(), host_.options());
    if (copied_ == nullptr) return host_;
    copied_->block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    return host_.to(device_, /*non_blocking=*/true);
}

}  // namespace plimsoll::engine
