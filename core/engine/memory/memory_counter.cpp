// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/memory_counter.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <mutex>

#include "core/engine/memory/memory_recorder.h"
#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

namespace {

std::atomic<Bytes> now{0};
std::atomic<Bytes> peak{0};
std::atomic<Bytes> marked_peak{0};

void raise(std::atomic<Bytes>& most, Bytes value) {
    Bytes seen = most.load();
    while (value > seen && !most.compare_exchange_weak(seen, value)) {
    }
}

void count(Bytes bytes) {
    const Bytes after = now.fetch_add(bytes) + bytes;
    raise(peak, after);
    raise(marked_peak, after);
}

std::array<std::atomic<Bytes>, memory_categories> by_category{};

/// Precedes each block, so that a free is counted exactly and the data pointer stays the context that LibTorch's raw
/// interface expects.
struct Header {
    Bytes bytes = 0;
    std::uint32_t recorder = 0;  ///< number of the recorder that saw the allocation; 0: none
    std::int32_t block = 0;
    MemoryCategory category = MemoryCategory::Activations;
};
constexpr std::size_t header = c10::gAlignment;
static_assert(sizeof(Header) <= header);

void release(void* data) {
    if (data == nullptr) return;
    char* block = static_cast<char*>(data) - header;
    const Header own = *reinterpret_cast<Header*>(block);
    now -= own.bytes;
    by_category[static_cast<std::size_t>(own.category)] -= own.bytes;
    if (own.recorder != 0) {
        MemoryRecorder* const recorder = MemoryRecorder::current();
        if (recorder != nullptr && recorder->number() == own.recorder) recorder->freed(own.block);
    }
    c10::free_cpu(block);
}

class CountingAllocator final : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::Device cpu(c10::DeviceType::CPU);
        if (bytes == 0) return {nullptr, nullptr, &release, cpu};
        // alloc_cpu refuses a size that wraps around like any other size that is too large.
        const std::size_t total = bytes + header < bytes ? bytes : bytes + header;
        char* block = static_cast<char*>(c10::alloc_cpu(total));
        Header own;
        own.bytes = static_cast<Bytes>(bytes);
        own.category = memory_label().category;
        MemoryRecorder* const recorder = MemoryRecorder::current();
        if (recorder != nullptr && recorder->device() == c10::DeviceType::CPU) {
            own.recorder = recorder->number();
            own.block = recorder->allocated(own.bytes);
        }
        *reinterpret_cast<Header*>(block) = own;
        by_category[static_cast<std::size_t>(own.category)] += own.bytes;
        count(own.bytes);
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

void mark_memory() { marked_peak = now.load(); }
Bytes memory_peak_since_mark() { return marked_peak; }

CategoryBytes memory_by_category() {
    CategoryBytes bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = by_category[i];
    return bytes;
}

}  // namespace plimsoll::engine
