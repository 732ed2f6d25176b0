// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/op.h"

#include <fmt/format.h>

#include <array>

namespace plimsoll {

std::string describe(const PipelineOp& op) {
    constexpr std::array names{"forward", "backward", "input backward", "weight backward"};
    const auto chunk = op.chunk > 0 ? fmt::format(" (chunk {})", op.chunk) : std::string();
    return fmt::format("{} of micro-batch {}{}", names[static_cast<std::size_t>(op.kind)], op.micro_batch, chunk);
}

std::string short_name(const PipelineOp& op, bool with_chunk) {
    constexpr std::array letters{'F', 'B', 'B', 'W'};
    const auto letter = letters[static_cast<std::size_t>(op.kind)];
    return with_chunk ? fmt::format("{}{}.{}", letter, op.micro_batch, op.chunk)
                      : fmt::format("{}{}", letter, op.micro_batch);
}

}  // namespace plimsoll
