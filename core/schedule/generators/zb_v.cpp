// SPDX-License-Identifier: Apache-2.0
// ZB-V of "Zero Bubble Pipeline Parallelism" (Qi et al. 2024, section 6): two chunks a rank, no bubble with F = B = W,
// the activations of 1F1B.
#include <algorithm>

#include "core/schedule/generators/generators.h"

namespace plimsoll {
namespace {

/// Appends each chunk's next micro-batch, leaving out those beyond the step's last.
class ZbVList {
public:
    explicit ZbVList(int micro_batches) : micro_batches_(micro_batches) {}
    void forward(int chunk) { add(OpKind::Forward, chunk, forwards_[chunk]++); }
    void backward_input(int chunk) { add(OpKind::BackwardInput, chunk, inputs_[chunk]++); }
    void backward_weight(int chunk) { add(OpKind::BackwardWeight, chunk, weights_[chunk]++); }
    int forwards(int chunk) const { return forwards_[chunk]; }
    bool owes_weight(int chunk) const { return weights_[chunk] < inputs_[chunk]; }
    OpList take() { return std::move(ops_); }

private:
    void add(OpKind kind, int chunk, int micro_batch) {
        if (micro_batch < micro_batches_) ops_.push_back({kind, micro_batch, chunk});
    }
    int micro_batches_;
    OpList ops_;
    int forwards_[2]{}, inputs_[2]{}, weights_[2]{};
};

}  // namespace

OpList zb_v_ops(const ScheduleShape& shape, int rank) {
    const int behind = shape.ranks - rank;
    // The pattern needs a full warm-up; with fewer micro-batches it is laid out for that many and cut.
    const int total = std::max(shape.micro_batches, 2 * shape.ranks - 1);
    ZbVList build(shape.micro_batches);
    for (int k = 0; k < 2 * behind - 1; ++k) build.forward(0);
    for (int k = 0; k < rank; ++k) {
        build.forward(1);
        build.forward(0);
    }
    const auto last_stage = [&] {
        build.forward(1);
        build.backward_input(1);
        build.backward_weight(1);
    };
    for (int k = 0; k < behind; ++k) last_stage();
    while (build.forwards(1) < build.forwards(0) || build.forwards(0) < total) {
        if (build.forwards(0) < total) build.forward(0);
        build.backward_input(0);
        build.backward_weight(0);
        last_stage();
    }
    for (int k = 0; k < rank; ++k) {
        build.backward_input(0);
        build.backward_input(1);
    }
    for (int k = 0; k < behind; ++k) {
        build.backward_input(0);
        build.backward_weight(0);
    }
    for (const int chunk : {1, 0})
        while (build.owes_weight(chunk)) build.backward_weight(chunk);
    return build.take();
}

}  // namespace plimsoll
