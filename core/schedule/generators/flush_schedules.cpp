// SPDX-License-Identifier: Apache-2.0
// GPipe, 1F1B, interleaved 1F1B and breadth-first: whole backwards, the pipeline is flushed at each step's end.
#include <algorithm>

#include "core/schedule/generators/generators.h"

namespace plimsoll {
namespace {

/// `warmup` forwards, then one forward and one backward in turn, then the backwards that are left.
template <class Forward, class Backward>
OpList alternating(int total, int warmup, Forward&& forward, Backward&& backward) {
    OpList ops;
    ops.reserve(2 * static_cast<std::size_t>(total));
    for (int k = 0; k < warmup; ++k) ops.push_back(forward(k));
    for (int k = warmup; k < total; ++k) {
        ops.push_back(forward(k));
        ops.push_back(backward(k - warmup));
    }
    for (int k = total - warmup; k < total; ++k) ops.push_back(backward(k));
    return ops;
}

/// (micro-batch, chunk) of the k-th forward in Megatron-LM's order: the micro-batches go in rounds of about one a rank,
/// and each round passes through chunk after chunk.
class RoundOrder {
public:
    explicit RoundOrder(const ScheduleShape& shape) {
        const int rounds = std::max(1, shape.micro_batches / shape.ranks);
        for (int round = 0, first = 0; round < rounds; ++round) {
            const int size = shape.micro_batches / rounds + (round < shape.micro_batches % rounds ? 1 : 0);
            for (int chunk = 0; chunk < shape.chunks; ++chunk)
                for (int m = first; m < first + size; ++m) order_.push_back({OpKind::Forward, m, chunk});
            first += size;
            largest_ = std::max(largest_, size);
        }
    }
    int total() const { return static_cast<int>(order_.size()); }
    int largest_round() const { return largest_; }
    const PipelineOp& operator[](int k) const { return order_[static_cast<std::size_t>(k)]; }

private:
    OpList order_;
    int largest_ = 0;
};

}  // namespace

OpList gpipe_ops(const ScheduleShape& shape) {
    return alternating(
        shape.micro_batches, shape.micro_batches,
        [](int k) {
            return PipelineOp{OpKind::Forward, k};
        },
        [](int k) {
            return PipelineOp{OpKind::Backward, k};
        });
}

// Enough forwards to fill the pipeline below this rank.
OpList one_f_one_b_ops(const ScheduleShape& shape, int rank) {
    const int warmup = std::min(shape.micro_batches, shape.ranks - 1 - rank);
    return alternating(
        shape.micro_batches, warmup,
        [](int k) {
            return PipelineOp{OpKind::Forward, k};
        },
        [](int k) {
            return PipelineOp{OpKind::Backward, k};
        });
}

// Narayanan 2021: the warm-up is the way down the ranks and back, twice what 1F1B has, and the earlier chunks' round.
OpList interleaved_ops(const ScheduleShape& shape, int rank) {
    if (shape.chunks == 1) return one_f_one_b_ops(shape, rank);
    const RoundOrder order(shape);
    const int warmup = (shape.chunks - 1) * order.largest_round() + 2 * (shape.ranks - 1 - rank);
    return alternating(
        order.total(), std::min(order.total(), warmup), [&](int k) { return order[k]; },
        [&](int k) {
            return PipelineOp{OpKind::Backward, order[k].micro_batch, shape.chunks - 1 - order[k].chunk};
        });
}

// Lamy-Poirier 2022: GPipe's order with every chunk taking all micro-batches before the next begins.
OpList breadth_first_ops(const ScheduleShape& shape) {
    OpList ops;
    ops.reserve(2 * static_cast<std::size_t>(shape.micro_batches) * static_cast<std::size_t>(shape.chunks));
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
        for (int m = 0; m < shape.micro_batches; ++m) ops.push_back({OpKind::Forward, m, chunk});
    for (int chunk = shape.chunks - 1; chunk >= 0; --chunk)
        for (int m = 0; m < shape.micro_batches; ++m) ops.push_back({OpKind::Backward, m, chunk});
    return ops;
}

}  // namespace plimsoll
