// SPDX-License-Identifier: Apache-2.0
// What the tensors that this thread makes are for. Costs a few instructions; the counters (memory_counter.h, dry_run/)
// read it at each allocation.
#pragma once

#include "core/allocator/memory_trace.h"

namespace plimsoll::engine {

/// Of this thread; Activations of no layer where nothing else is said.
MemoryLabel& memory_label();

/// A category, a layer, or both, until it ends. The innermost one counts.
class MemoryScope {
public:
    explicit MemoryScope(MemoryCategory category) : before_(memory_label()) { memory_label().category = category; }
    MemoryScope(MemoryCategory category, std::int32_t layer) : MemoryScope(category) { memory_label().layer = layer; }
    ~MemoryScope() { memory_label() = before_; }
    MemoryScope(const MemoryScope&) = delete;
    MemoryScope& operator=(const MemoryScope&) = delete;

private:
    MemoryLabel before_;
};

/// What is made until it ends lies in host memory (an offloaded optimizer's states). Only a dry run looks: there both
/// memories are the same device.
class HostMemoryScope {
public:
    HostMemoryScope();
    ~HostMemoryScope();
    HostMemoryScope(const HostMemoryScope&) = delete;
    HostMemoryScope& operator=(const HostMemoryScope&) = delete;
    static bool active();

private:
    bool before_;
};

}  // namespace plimsoll::engine
