// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/memory_trace.h"

#include <fmt/format.h>

namespace plimsoll {

std::string layer_name(std::int32_t layer) {
    if (layer == embedding_layer) return "embed";
    if (layer == head_layer) return "head";
    return layer < 0 ? "" : std::to_string(layer);
}

MemoryTrace::MemoryTrace() {
    op("");
    begin_phase("init");
}

std::int32_t MemoryTrace::op(std::string_view name) {
    const auto [entry, is_new] = op_numbers_.try_emplace(std::string(name), static_cast<std::int32_t>(ops_.size()));
    if (is_new) ops_.emplace_back(name);
    return entry->second;
}

std::int32_t MemoryTrace::begin_phase(std::string name) {
    phases_.push_back({std::move(name), events_.size()});
    return phase();
}

std::int32_t MemoryTrace::allocate(Bytes bytes, const MemoryLabel& label) {
    const auto block = static_cast<std::int32_t>(blocks_.size());
    blocks_.push_back({bytes, label});
    events_.push_back(block);
    return block;
}

void MemoryTrace::free(std::int32_t block) { events_.push_back(-block - 1); }

std::string trace_text(const MemoryTrace& trace, std::size_t begin) {
    std::string text;
    Bytes live = 0;
    std::size_t phase = 0;
    for (std::size_t i = 0; i < trace.events().size(); ++i) {
        const auto event = trace.events()[i];
        const auto& [bytes, label] = trace.blocks()[static_cast<std::size_t>(event >= 0 ? event : -event - 1)];
        const Bytes change = event >= 0 ? bytes : -bytes;
        live += change;
        while (phase + 1 < trace.phases().size() && trace.phases()[phase + 1].event <= i) ++phase;
        if (i < begin) continue;
        text += fmt::format("{} {:+} {} {} {} {} | {}\n", i - begin, change, live, name_of(label.category).substr(0, 5),
                            layer_name(label.layer), trace.ops()[static_cast<std::size_t>(label.op)],
                            trace.phases()[phase].name);
    }
    return text;
}

}  // namespace plimsoll
