// SPDX-License-Identifier: Apache-2.0
// plimsoll-cuda: NCCL and the CUDA allocator's figures behind core/engine/ranks/accelerator.h. Built and linked
// wherever the CUDA toolkit is found; it has not been run on a GPU yet.
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/engine/ranks/accelerator.h"

namespace plimsoll::engine {

namespace {

using c10::CachingAllocator::StatType;

class CudaAccelerator final : public Accelerator {
public:
    int device_count() const override { return c10::cuda::device_count(); }

    std::string describe(int device) const override {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return fmt::format("cuda:{}", device);
        return fmt::format("{}, {}", properties.name, format_bytes(static_cast<Bytes>(properties.totalGlobalMem)));
    }

    Result<void> select(int device) override {
        if (device >= device_count()) {
            return bad_input(
                "local rank {} has no GPU of its own: this machine shows {}; start at most that many ranks "
                "here, or check CUDA_VISIBLE_DEVICES",
                device, device_count());
        }
        try {
            at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
            c10::cuda::set_device(static_cast<c10::DeviceIndex>(device));
            device_ = static_cast<c10::DeviceIndex>(device);
            return {};
        } catch (const c10::Error& error) {
            return failed("GPU {} cannot be used: {}", device, error.what_without_backtrace());
        }
    }

    Bytes memory_now() const override { return allocated().current; }
    Bytes memory_peak() const override { return allocated().peak; }
    void synchronize() override { c10::cuda::device_synchronize(); }

    c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                   int world_size, Seconds timeout) override {
        auto options = c10d::ProcessGroupNCCL::Options::create();
        options->timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
        auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, world_size, options);
        // Now, in the order in which all ranks make their groups: at its first message a group would connect in an order
        // of each rank's own, and ranks would wait for one another in a circle.
        backend->eagerConnectSingleDevice(c10::Device(c10::DeviceType::CUDA, device_));
        return backend;
    }

private:
    c10::CachingAllocator::Stat allocated() const {
        return c10::cuda::CUDACachingAllocator::getDeviceStats(device_)
            .allocated_bytes[static_cast<std::size_t>(StatType::AGGREGATE)];
    }

    c10::DeviceIndex device_ = 0;
};

}  // namespace

}  // namespace plimsoll::engine

extern "C" __attribute__((visibility("default"))) plimsoll::engine::Accelerator* plimsoll_accelerator_1() {
    static plimsoll::engine::CudaAccelerator accelerator;
    return &accelerator;
}
