// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/memory_recorder.h"

#include <ATen/record_function.h>
#include <ATen/SequenceNumber.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

namespace {

std::atomic<MemoryRecorder*> recorder{nullptr};
std::atomic<std::uint32_t> recorders{0};

}  // namespace

/// State of the callbacks of one thread.
struct MemoryRecorder::Ops {
    explicit Ops(MemoryTrace& into) : trace(into) {}

    MemoryTrace& trace;
    at::CallbackHandle handle{};
    std::vector<MemoryLabel> outer;  ///< labels of the enclosing ops
    /// Labels of ops by the sequence number of the next autograd node, ascending.
    std::vector<std::pair<std::int64_t, MemoryLabel>> forward;
    std::unordered_map<const char*, std::int32_t> numbers;

    static thread_local Ops* here;

    std::int32_t number(const at::RecordFunction& function) {
        const bool op = function.scope() == at::RecordScope::FUNCTION && function.operator_name().has_value();
        if (!op) return trace.op(function.name());
        const auto [entry, is_new] = numbers.try_emplace(function.name(), 0);
        if (is_new) entry->second = trace.op(function.name());
        return entry->second;
    }

    /// The label of the last forward op that had begun when the node was created.
    const MemoryLabel* forward_of(std::int64_t sequence) const {
        auto found = std::upper_bound(forward.begin(), forward.end(), sequence,
                                      [](std::int64_t value, const auto& entry) { return value < entry.first; });
        return found == forward.begin() ? nullptr : &std::prev(found)->second;
    }

    void start(const at::RecordFunction& function) {
        MemoryLabel& label = memory_label();
        outer.push_back(label);
        if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
            if (const MemoryLabel* own = forward_of(function.seqNr())) {
                label.category = own->category;
                label.layer = own->layer;
            }
            label.op = number(function);
            return;
        }
        label.op = number(function);
        // Ops that autograd does not see are entered as well, because a custom function's node comes after them.
        const auto sequence = static_cast<std::int64_t>(at::sequence_number::peek());
        if (!forward.empty() && forward.back().first == sequence) {
            forward.back().second = label;
        } else {
            forward.emplace_back(sequence, label);
        }
    }
    void end() {
        if (outer.empty()) return;
        memory_label() = outer.back();
        outer.pop_back();
    }
};

thread_local MemoryRecorder::Ops* MemoryRecorder::Ops::here = nullptr;

MemoryRecorder::MemoryRecorder(c10::DeviceType device) : number_(++recorders), device_(device) { recorder = this; }

void MemoryRecorder::watch_ops() {
    ops_ = std::make_unique<Ops>(trace_);
    Ops::here = ops_.get();
    const auto start = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
        if (Ops::here != nullptr) Ops::here->start(function);
        return nullptr;
    };
    const auto end = [](const at::RecordFunction&, at::ObserverContext*) {
        if (Ops::here != nullptr) Ops::here->end();
    };
    ops_->handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(start, end).scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

MemoryRecorder::~MemoryRecorder() {
    recorder = nullptr;
    if (ops_ != nullptr) at::removeCallback(ops_->handle);
    Ops::here = nullptr;
    memory_label().op = 0;
    memory_label().phase = 0;
}

MemoryRecorder* MemoryRecorder::current() { return recorder; }

std::int32_t MemoryRecorder::allocated(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    MemoryLabel label = memory_label();
    label.phase = trace_.phase();
    return trace_.allocate(bytes, label);
}

void MemoryRecorder::freed(std::int32_t block) {
    const std::lock_guard lock(mutex_);
    trace_.free(block);
}

void begin_memory_phase(const char* name, std::int64_t number) {
    MemoryRecorder* const current = MemoryRecorder::current();
    if (current == nullptr) return;
    current->trace().begin_phase(number < 0 ? name : fmt::format("{} {}", name, number));
}

}  // namespace plimsoll::engine
