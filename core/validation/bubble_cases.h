// SPDX-License-Identifier: Apache-2.0
// Published bubble rates, read from tables.
#pragma once

#include "core/validation/bubble_rates.h"

namespace plimsoll {

/// Rows of a CSV with the columns p, m, forward_ms, backward_input_ms, backward_weight_ms, comm_ms, one or more of
/// bubble_1f1b, bubble_interleaved_1f1b, bubble_zb_h1, bubble_zb_h2, bubble_zb_1p, bubble_zb_2p, and optionally chunks
/// and weight_share. Errors name the line and the column.
Result<std::vector<BubbleCase>> read_bubble_cases(std::string_view csv);

}  // namespace plimsoll
