// SPDX-License-Identifier: Apache-2.0
// Every allocation and every free of one rank, in order, with their purpose.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/units.h"

namespace plimsoll {

/// The categories of the waterline to which tensors belong (core/estimate's Category, in its order).
enum class MemoryCategory : std::uint8_t { Parameters, Gradients, Optimizer, Activations, Buffers };
inline constexpr std::size_t memory_categories = 5;
inline constexpr std::array<std::string_view, memory_categories> memory_category_names{
    "Parameters", "Gradients", "Optimizer + master", "Activations", "Buffers, logits"};
inline constexpr std::string_view name_of(MemoryCategory category) {
    return memory_category_names[static_cast<std::size_t>(category)];
}

/// Layers are numbered from 0; these values mark memory of no layer and of the two ends.
inline constexpr std::int32_t no_layer = -1, embedding_layer = -2, head_layer = -3;
/// "12", "embed", "head", or "" for no_layer.
std::string layer_name(std::int32_t layer);

struct MemoryLabel {
    MemoryCategory category = MemoryCategory::Activations;
    std::int32_t layer = no_layer;
    std::int32_t op = 0;     ///< index into ops()
    std::int32_t phase = 0;  ///< index into phases()
    bool operator==(const MemoryLabel&) const = default;
};

class MemoryTrace {
public:
    struct Block {
        Bytes bytes = 0;
        MemoryLabel label;
    };
    /// Allocation of block b: b; its free: -b - 1.
    using Event = std::int32_t;
    struct Phase {
        std::string name;
        std::size_t event = 0;  ///< first event of the phase
    };

    MemoryTrace();
    /// The number of a name; the first one, 0, is "".
    std::int32_t op(std::string_view name);
    /// Phases follow one another; the first one, 0, is "init".
    std::int32_t begin_phase(std::string name);

    std::int32_t allocate(Bytes bytes, const MemoryLabel& label);
    void free(std::int32_t block);

    const std::vector<Block>& blocks() const { return blocks_; }
    const std::vector<Event>& events() const { return events_; }
    const std::vector<std::string>& ops() const { return ops_; }
    const std::vector<Phase>& phases() const { return phases_; }
    std::int32_t phase() const { return static_cast<std::int32_t>(phases_.size()) - 1; }

private:
    std::vector<Block> blocks_;
    std::vector<Event> events_;
    std::vector<std::string> ops_;
    std::vector<Phase> phases_;
    std::unordered_map<std::string, std::int32_t> op_numbers_;
};

/// The events from `begin` on as lines "event ±bytes live category layer op | phase", for comparing runs.
std::string trace_text(const MemoryTrace& trace, std::size_t begin);

}  // namespace plimsoll
