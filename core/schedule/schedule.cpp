// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule.h"

#include <algorithm>

namespace plimsoll {
namespace {

std::vector<PipelineOp> gpipe_ops(int micro_batches) {
    std::vector<PipelineOp> ops;
    ops.reserve(2 * static_cast<std::size_t>(micro_batches));
    for (int m = 0; m < micro_batches; ++m) ops.push_back({OpKind::Forward, m});
    for (int m = 0; m < micro_batches; ++m) ops.push_back({OpKind::Backward, m});
    return ops;
}

// Enough forwards to fill the pipeline below this stage, then one forward and one backward in turn, then the rest.
std::vector<PipelineOp> one_f_one_b_ops(int stages, int stage, int micro_batches) {
    std::vector<PipelineOp> ops;
    ops.reserve(2 * static_cast<std::size_t>(micro_batches));
    const int warmup = std::min(micro_batches, stages - 1 - stage);
    for (int m = 0; m < warmup; ++m) ops.push_back({OpKind::Forward, m});
    for (int m = warmup; m < micro_batches; ++m) {
        ops.push_back({OpKind::Forward, m});
        ops.push_back({OpKind::Backward, m - warmup});
    }
    for (int m = micro_batches - warmup; m < micro_batches; ++m) ops.push_back({OpKind::Backward, m});
    return ops;
}

}  // namespace

Result<PipelineSchedule> make_schedule(Schedule kind, int stages, int micro_batches) {
    if (stages < 1) return bad_input("a pipeline needs at least one stage, not {}; set layout.pp to 1 or more", stages);
    if (micro_batches < 1)
        return bad_input("a pipeline needs at least one micro-batch, not {}; set layout.accumulation to 1 or more",
                         micro_batches);
    const auto ops = 2 * static_cast<std::int64_t>(stages) * micro_batches;
    if (ops > max_schedule_ops)
        return bad_input(
            "{} stages x {} micro-batches are {} operations, more than the {} that can be laid out; lower "
            "layout.accumulation or layout.pp",
            stages, micro_batches, ops, max_schedule_ops);

    PipelineSchedule schedule{stages, micro_batches, {}};
    schedule.ops.reserve(static_cast<std::size_t>(stages));
    for (int stage = 0; stage < stages; ++stage)
        schedule.ops.push_back(kind == Schedule::GPipe ? gpipe_ops(micro_batches)
                                                       : one_f_one_b_ops(stages, stage, micro_batches));
    return schedule;
}

std::int64_t peak_in_flight(Schedule kind, std::int64_t stages, std::int64_t stage, std::int64_t micro_batches) {
    if (stages == 1) return 1;
    return kind == Schedule::GPipe ? micro_batches : std::min(micro_batches, stages - stage);
}

double closed_form_bubble(int stages, int micro_batches) {
    return static_cast<double>(stages - 1) / (static_cast<double>(micro_batches) + stages - 1);
}

}  // namespace plimsoll
