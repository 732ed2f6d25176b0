// SPDX-License-Identifier: Apache-2.0
// Writes down each allocation of this thread's work with its phase, layer and op.
#pragma once

#include <c10/core/DeviceType.h>

#include <memory>
#include <mutex>
#include <string>

#include "core/allocator/memory_trace.h"

namespace plimsoll::engine {

/// One at a time in a process; while it lives, the allocators report to it.
class MemoryRecorder {
public:
    /// Of tensors of this device; on meta a dry run's, which the CPU's own are no part of.
    explicit MemoryRecorder(c10::DeviceType device = c10::DeviceType::CPU);
    ~MemoryRecorder();
    MemoryRecorder(const MemoryRecorder&) = delete;
    MemoryRecorder& operator=(const MemoryRecorder&) = delete;

    /// From here on each op of this thread is seen (at::RecordFunction): what the op allocates gets its name, and what
    /// a backward node allocates the layer and category of the forward op it belongs to, found by autograd's sequence
    /// number. By the thread that made the recorder.
    void watch_ops();

    MemoryTrace& trace() { return trace_; }
    /// Tells recorders apart: a block of an earlier one is none of this one's.
    std::uint32_t number() const { return number_; }

    c10::DeviceType device() const { return device_; }

    /// By an allocator, from any thread, with the thread's label.
    std::int32_t allocated(Bytes bytes);
    void freed(std::int32_t block);

    /// The one that lives, or null.
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
