// SPDX-License-Identifier: Apache-2.0
// Writes down each allocation of this thread's work with its phase, layer and op.
#pragma once

#include <c10/core/DeviceType.h>

#include <memory>
#include <mutex>
#include <string>

#include "core/allocator/memory_trace.h"

namespace plimsoll::engine {

/// At most one recorder lives in a process; while a recorder lives, the allocators report to it.
class MemoryRecorder {
public:
    /// Records tensors of `device`. On meta, a dry run's tensors are recorded, and the CPU's own are not.
    explicit MemoryRecorder(c10::DeviceType device = c10::DeviceType::CPU);
    ~MemoryRecorder();
    MemoryRecorder(const MemoryRecorder&) = delete;
    MemoryRecorder& operator=(const MemoryRecorder&) = delete;

    /// From here on each op of this thread is observed (at::RecordFunction): allocations of an op get the op's name,
    /// and allocations of a backward node get the layer and category of its forward op, found by autograd's sequence
    /// number. To be called by the thread that made the recorder.
    void watch_ops();

    MemoryTrace& trace() { return trace_; }
    /// Number of this recorder: a block that an earlier recorder counted does not belong to this one.
    std::uint32_t number() const { return number_; }

    c10::DeviceType device() const { return device_; }

    /// To be called by an allocator, from any thread; the allocation gets the thread's label.
    std::int32_t allocated(Bytes bytes);
    void freed(std::int32_t block);

    /// The living recorder, or null.
    static MemoryRecorder* current();

private:
    struct Ops;
    MemoryTrace trace_;
    std::mutex mutex_;
    std::uint32_t number_;
    c10::DeviceType device_;
    std::unique_ptr<Ops> ops_;
};

/// What this thread's work is about now: "forward 3". Nothing happens without a recorder.
void begin_memory_phase(const char* name, std::int64_t number = -1);

}  // namespace plimsoll::engine
