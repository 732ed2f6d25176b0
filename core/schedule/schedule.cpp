// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule.h"

#include <algorithm>

namespace plimsoll {

Placement placement_of(Schedule kind) { return folds_model(kind) ? Placement::V : Placement::Loop; }

const char* schedule_title(Schedule kind) {
    switch (kind) {
        case Schedule::GPipe:
            return "GPipe";
        case Schedule::OneFOneB:
            return "1F1B";
        case Schedule::Interleaved:
            return "interleaved 1F1B";
        case Schedule::BreadthFirst:
            return "breadth-first";
        case Schedule::ZbH1:
            return "ZB-H1";
        case Schedule::ZbH2:
            return "ZB-H2";
        case Schedule::Zb1p:
            return "ZB-1p";
        case Schedule::Zb2p:
            return "ZB-2p";
        case Schedule::ZbV:
            return "ZB-V";
        case Schedule::VHalf:
            return "V-Half";
        case Schedule::VMin:
            return "V-Min";
        case Schedule::DualPipeV:
            return "DualPipeV";
    }
    return "";
}

bool splits_backward(Schedule kind) {
    switch (kind) {
        case Schedule::GPipe:
        case Schedule::OneFOneB:
        case Schedule::Interleaved:
        case Schedule::BreadthFirst:
            return false;
        default:
            return true;
    }
}

bool splits_backward(const PipelineSchedule& schedule) {
    const auto is_input = [](const PipelineOp& op) { return op.kind == OpKind::BackwardInput; };
    return std::any_of(schedule.ops.begin(), schedule.ops.end(), [&](const std::vector<PipelineOp>& ops) {
        return std::any_of(ops.begin(), ops.end(), is_input);
    });
}

}  // namespace plimsoll
