// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/memory_trace.h"

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

}  // namespace plimsoll
