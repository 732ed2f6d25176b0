// SPDX-License-Identifier: Apache-2.0
// The purpose of the tensors that this thread makes. A label costs a few instructions; the counters (memory_counter.h,
// dry_run/) read the label at each allocation.
#pragma once

#include "core/allocator/memory_trace.h"

namespace plimsoll::engine {

/// The label of this thread; Activations of no layer by default.
MemoryLabel& memory_label();

/// Sets a category, a layer, or both while the scope lives. The innermost scope counts.
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

/// Tensors made while the scope lives are in host memory (an offloaded optimizer's states). Only a dry run asks, since
/// host and device tensors are on the same device there.
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
