// SPDX-License-Identifier: Apache-2.0
// Simulated bubble rates beside published ones: what `plimsoll validate bubble` does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/schedule.h"

namespace plimsoll {

/// One row of the file: times of one micro-batch on one rank, and the published rates by column.
struct BubbleCase {
    int ranks = 1;
    int micro_batches = 1;
    Seconds forward = 0, backward_input = 0, backward_weight = 0, send = 0;
    std::optional<int> chunks;           ///< chunks of the interleaved schedule, where the file gives them
    std::optional<double> weight_share;  ///< share of a micro-batch's activations, where the file gives it
    std::vector<std::pair<std::string, double>> published;
};

struct BubbleRate {
    std::string column;
    double simulated = 0;
    std::optional<double> published;
    std::string note;
};

/// Timeline::bubble_per_rank of each schedule for the case's times. ZB-1p and ZB-2p follow the paper's own rules, and
/// once more the wide search (columns …_search). A case without chunks is simulated with 2 to 4 chunks, the paper's
/// numbers; the rate nearest to the published one counts, and the note names its chunks. A case without weight_share
/// takes 32 / (34 + 5 s / d), a sequence of 1024 and heads of 96 (table 1 and the 1.5B model of the paper).
Result<std::vector<BubbleRate>> bubble_rates(const BubbleCase& given);

}  // namespace plimsoll
