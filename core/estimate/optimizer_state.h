// SPDX-License-Identifier: Apache-2.0
// What each optimizer keeps for the parameters of a slice. Used by the model states only.
#pragma once

#include <string>

#include "core/estimate/terms.h"

namespace plimsoll {

/// Source of the terms that ZeRO shards.
inline constexpr auto zero_source = "ZeRO (Rajbhandari et al. 2020), sections 3.1 and 5";

/// A rank's part of the slice's parameters.
Count shard(const Slice& slice, const Sharding& groups, bool sharded);
/// "8 B × P / N = 8 × 6,738,415,616 / 4; N = dp × cp".
std::string shard_formula(std::int64_t bytes, const Slice& slice, const Sharding& groups, bool sharded);

/// Besides the fp32 masters. AdamW (Loshchilov and Hutter 2019) and LAMB (You et al. 2020) keep two moments in
/// optimizer.state_dtype, SGD one momentum or nothing, 8-bit AdamW (Dettmers et al. 2022) two moments of 1 B with an fp32 scale a block of
/// 256 (parameters of fewer than 4096 numbers keep fp32 ones, which weigh nothing and are not counted), Adafactor
/// (Shazeer and Stern 2018, no first moment) an fp32 second moment of a number a row and one a column of each matrix,
/// and of its own length for each vector. A shard of a matrix is some of its rows, and has all columns.
Count optimizer_bytes(const Plan& plan, const Slice& slice, bool sharded);
Words optimizer_words(const Plan& plan, const Slice& slice, bool sharded);
/// "adam_moments"
const char* optimizer_key(OptimizerKind kind);

/// Elements of Adafactor's second moment for the whole slice: q, k and v are matrices of their own (one in GPT-2).
struct AdafactorElements {
    Count rows;     ///< a number a row of each matrix, and the vectors
    Count columns;  ///< a number a column of each matrix
};
AdafactorElements adafactor_elements(const Plan& plan, const Slice& slice);

}  // namespace plimsoll
