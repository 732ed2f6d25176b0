// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dry_run/meta_allocator.h"

#include <c10/core/Allocator.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "core/engine/memory/memory_recorder.h"
#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

namespace {

std::atomic<Bytes> host_bytes{0}, host_peak{0};

/// The context of a block, with the recorder that hears of the free.
struct MetaBlock {
    Bytes bytes = 0;
    std::uint32_t recorder = 0;  ///< 0: no recorder saw the allocation
    std::int32_t block = 0;
    bool host = false;
};

void release(void* context) {
    const std::unique_ptr<MetaBlock> own(static_cast<MetaBlock*>(context));
    if (own->host) host_bytes -= own->bytes;
    MemoryRecorder* const recorder = MemoryRecorder::current();
    if (own->recorder != 0 && recorder != nullptr && recorder->number() == own->recorder) recorder->freed(own->block);
}

class MetaAllocator final : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::Device meta(c10::DeviceType::Meta);
        if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, meta};
        auto own = std::make_unique<MetaBlock>();
        own->bytes = static_cast<Bytes>(bytes);
        own->host = HostMemoryScope::active();
        MemoryRecorder* const recorder = MemoryRecorder::current();
        if (own->host) {
            const Bytes now = host_bytes += own->bytes;
            host_peak = std::max(host_peak.load(), now);
        } else if (recorder != nullptr) {
            own->recorder = recorder->number();
            own->block = recorder->allocated(own->bytes);
        }
        return {nullptr, own.release(), &release, meta};
    }
    void copy_data(void*, const void*, std::size_t) const override {}
};

}  // namespace

void install_meta_allocator() {
    static std::once_flag once;
    std::call_once(once, [] {
        static MetaAllocator allocator;
        c10::SetAllocator(c10::DeviceType::Meta, &allocator, /*priority=*/1);
    });
}

Bytes meta_host_peak() { return host_peak; }
void reset_meta_host_peak() { host_peak = host_bytes.load(); }

}  // namespace plimsoll::engine
