// SPDX-License-Identifier: Apache-2.0
// One operation of a pipeline rank.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

enum class OpKind : std::uint8_t {
    Forward,
    Backward,        ///< gradients of the input and of the weights in one go
    BackwardInput,   ///< gradient of the input only: what the stage before waits for ("B" of the zero-bubble papers)
    BackwardWeight,  ///< gradient of the weights only, any time after BackwardInput ("W" of the zero-bubble papers)
};

struct PipelineOp {
    OpKind kind = OpKind::Forward;
    int micro_batch = 0;
    int chunk = 0;  ///< model chunk of the rank; 0 unless the schedule gives a rank several
    bool operator==(const PipelineOp&) const = default;
};

/// Whether the stage before waits for this op's gradient.
inline bool sends_gradient(OpKind kind) { return kind == OpKind::Backward || kind == OpKind::BackwardInput; }

/// "forward of micro-batch 3", "weight backward of micro-batch 3 (chunk 1)".
std::string describe(const PipelineOp& op);
/// The letter of the papers and one micro-batch number: "F3", "B3", "W3"; with chunks "F3.1".
std::string short_name(const PipelineOp& op, bool with_chunk);

}  // namespace plimsoll
