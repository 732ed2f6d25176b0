// SPDX-License-Identifier: Apache-2.0
// ZB-H1 and ZB-H2 of "Zero Bubble Pipeline Parallelism" (Qi et al. 2024).
#include <algorithm>

#include "core/schedule/generators/generators.h"

namespace plimsoll {
namespace {

/// `warmup` forwards, then input backward, weight backward and forward in turn; the weight backwards run `lag`
/// micro-batches late, so that as many are left for the end of the step, where the rank would else wait.
OpList one_f_one_b_one_w(int micro_batches, int warmup, int lag) {
    OpList ops;
    ops.reserve(3 * static_cast<std::size_t>(micro_batches));
    const int first = std::min(micro_batches, warmup);
    for (int m = 0; m < first; ++m) ops.push_back({OpKind::Forward, m});
    for (int m = 0; m < micro_batches; ++m) {
        ops.push_back({OpKind::BackwardInput, m});
        if (m >= lag) ops.push_back({OpKind::BackwardWeight, m - lag});
        if (first + m < micro_batches) ops.push_back({OpKind::Forward, first + m});
    }
    for (int m = std::max(0, micro_batches - lag); m < micro_batches; ++m) ops.push_back({OpKind::BackwardWeight, m});
    return ops;
}

}  // namespace

// The warm-up of 1F1B; every rank keeps p micro-batches, forwards and late weight backwards together.
OpList zb_h1_ops(const ScheduleShape& shape, int rank) {
    return one_f_one_b_one_w(shape.micro_batches, shape.ranks - rank, rank);
}

// Forwards fill the time until the first gradient is there; every rank keeps 2p - 1 micro-batches.
OpList zb_h2_ops(const ScheduleShape& shape, int rank) {
    return one_f_one_b_one_w(shape.micro_batches, 2 * (shape.ranks - rank) - 1, 2 * rank);
}

}  // namespace plimsoll
