// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's ZeRO stage and gradient buckets: one rule for what is counted and what is exported.
#pragma once

#include <algorithm>

#include "core/estimate/slice.h"

namespace plimsoll {

/// The ZeRO stage that trains in DeepSpeed: stage 0 does not train 16-bit weights correctly (DeepSpeed pull requests
/// 8393 and 7839), so stage 1 stands in its place.
inline std::int64_t deepspeed_stage(const Plan& plan) {
    const bool half = plan.numerics.weight_dtype() != Dtype::Fp32;
    return half ? std::max<std::int64_t>(plan.layout.zero_stage, 1) : plan.layout.zero_stage;
}

/// Elements of a bucket (reduce_bucket_size): DeepSpeed's own default, but never more than the rank holds, since it is
/// allocated whole.
inline Count reduce_bucket_elements(const Slice& slice) { return std::min(Count(500'000'000), slice.total); }

/// Whether gradients are reduced while backward computes (overlap_comm): as an imported DeepSpeed file says, which the
/// plan's document keeps, or wherever it can be. DeepSpeed's pipeline engine cannot.
bool overlaps_reduction(const Plan& plan);

/// Buckets that a rank holds: stages 1 and 2 fill one while the other travels (stage_1_and_2.py, setup_buckets).
inline std::int64_t reduce_buckets(const Plan& plan) {
    return plan.layout.zero_stage < 3 && overlaps_reduction(plan) ? 2 : 1;
}

}  // namespace plimsoll
