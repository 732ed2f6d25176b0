// SPDX-License-Identifier: Apache-2.0
// DualPipeV: DeepSeek-V3's DualPipe cut in half, so that each rank holds one copy of two stages.
#include "core/schedule/generators/generators.h"

namespace plimsoll {
namespace {

/// Appends each chunk's next micro-batch; weight backwards come in the order of their input backwards.
class DualPipeVList {
public:
    void forward(int chunk) { ops_.push_back({OpKind::Forward, forwards_[chunk]++, chunk}); }
    void backward(int chunk) { ops_.push_back({OpKind::Backward, backwards_[chunk]++, chunk}); }
    void backward_input(int chunk) {
        ops_.push_back({OpKind::BackwardInput, backwards_[chunk]++, chunk});
        waiting_.push_back({OpKind::BackwardWeight, ops_.back().micro_batch, chunk});
    }
    void backward_weight() { ops_.push_back(waiting_[weights_++]); }
    OpList take() { return std::move(ops_); }

private:
    OpList ops_, waiting_;
    std::size_t weights_ = 0;
    int forwards_[2]{}, backwards_[2]{};
};

}  // namespace

// The eight steps of the schedule, named as in its description: n F0, n F0F1, n B1W1F1, n F0B1F1B0, n B1F1B0, n B1B0,
// n WB0, n W.
OpList dualpipe_v_ops(const ScheduleShape& shape, int rank) {
    const int behind = shape.ranks - 1 - rank, ahead = rank + 1;
    DualPipeVList build;
    for (int k = 0; k < 2 * behind; ++k) build.forward(0);
    for (int k = 0; k < ahead; ++k) {
        build.forward(0);
        build.forward(1);
    }
    for (int k = 0; k < behind; ++k) {
        build.backward_input(1);
        build.backward_weight();
        build.forward(1);
    }
    for (int k = 0; k < shape.micro_batches - 2 * shape.ranks + ahead; ++k) {
        build.forward(0);
        build.backward(1);
        build.forward(1);
        build.backward(0);
    }
    for (int k = 0; k < behind; ++k) {
        build.backward(1);
        build.forward(1);
        build.backward(0);
    }
    // The second half is split, so that its weight backwards fill the way home.
    bool split = false;
    for (int k = 0; k < ahead; ++k) {
        if (k == ahead / 2 && rank % 2 == 1) split = true;
        split ? build.backward_input(1) : build.backward(1);
        if (k == ahead / 2 && rank % 2 == 0) split = true;
        split ? build.backward_input(0) : build.backward(0);
    }
    for (int k = 0; k < behind; ++k) {
        build.backward_weight();
        build.backward_input(0);
    }
    for (int k = 0; k < ahead; ++k) build.backward_weight();
    return build.take();
}

}  // namespace plimsoll
