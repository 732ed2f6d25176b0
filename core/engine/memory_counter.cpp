// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory_counter.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <mutex>

namespace plimsoll::engine {

namespace {

std::atomic<Bytes> now{0};
std::atomic<Bytes> peak{0};

void count(Bytes bytes) {
    const Bytes after = now.fetch_add(bytes) + bytes;
    Bytes seen = peak.load();
    while (after > seen && !peak.compare_exchange_weak(seen, after)) {
    }
}

/// The block's size stands in a header before it, so that a free is counted exactly and the data pointer stays the
/// context that LibTorch's raw interface expects.
constexpr std::size_t header = c10::gAlignment;

void release(void* data) {
    if (data == nullptr) return;
    char* block = static_cast<char*>(data) - header;
    now -= *reinterpret_cast<Bytes*>(block);
    c10::free_cpu(block);
}

class CountingAllocator final : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::Device cpu(c10::DeviceType::CPU);
        if (bytes == 0) return {nullptr, nullptr, &release, cpu};
        // A size that wraps around is refused by alloc_cpu like any other that is too large.
        const std::size_t total = bytes + header < bytes ? bytes : bytes + header;
        char* block = static_cast<char*>(c10::alloc_cpu(total));
        *reinterpret_cast<Bytes*>(block) = static_cast<Bytes>(bytes);
        count(static_cast<Bytes>(bytes));
        void* data = block + header;
        return {data, data, &release, cpu};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void install_memory_counter() {
    static std::once_flag once;
    std::call_once(once, [] {
        static CountingAllocator allocator;
        c10::SetCPUAllocator(&allocator, /*priority=*/1);
    });
}

Bytes memory_now() { return now; }
Bytes memory_peak() { return peak; }
void reset_memory_peak() { peak = now.load(); }

}  // namespace plimsoll::engine
