// SPDX-License-Identifier: Apache-2.0
// V-Min and V-Half of "Pipeline Parallelism with Controllable Memory" (Qi et al. 2024): a block of passes, the
// same for each micro-batch, whose length decides how many micro-batches are alive at once.
#include <algorithm>
#include <array>
#include <optional>

#include "core/schedule/generators/generators.h"

namespace plimsoll {
namespace {

constexpr int period = 6;  // F, B and W of two chunks

/// When one rank does the passes of micro-batch 0: F0 F1 B1 B0 W1 W0.
using Starts = std::array<int, 6>;
constexpr std::array<PipelineOp, 6> passes{{{OpKind::Forward, 0, 0},
                                            {OpKind::Forward, 0, 1},
                                            {OpKind::BackwardInput, 0, 1},
                                            {OpKind::BackwardInput, 0, 0},
                                            {OpKind::BackwardWeight, 0, 1},
                                            {OpKind::BackwardWeight, 0, 0}}};

/// What passes before each of the three turns: from the last rank's forward down to its forward up, from the first
/// rank's forward up to its backward down, from the last rank's backward down to its backward up.
using Turns = std::array<int, 3>;

Starts starts_on(int rank, int ranks, const VBlock& block, const Turns& turns) {
    const int last = ranks - 1;
    const int turn_up = last * block.forward_down + turns[0];
    const int turn_back = turn_up + last * block.forward_up + turns[1];
    const int turn_home = turn_back + last * block.backward_down + turns[2];
    return {rank * block.forward_down,
            turn_up + (last - rank) * block.forward_up,
            turn_back + rank * block.backward_down,
            turn_home + (last - rank) * block.backward_up,
            0,
            0};
}

bool collides(const Starts& starts) {
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < a; ++b)
            if ((starts[static_cast<std::size_t>(a)] - starts[static_cast<std::size_t>(b)]) % period == 0) return true;
    return false;
}

// The weight backwards take the two places of the period that are left, each as early after its own input backward as
// it can.
void place_weights(Starts& starts) {
    std::array<bool, period> taken{};
    for (int k = 0; k < 4; ++k) taken[static_cast<std::size_t>(starts[static_cast<std::size_t>(k)] % period)] = true;
    for (const auto& [weight, input] : {std::pair{4u, 2u}, std::pair{5u, 3u}}) {
        int at = starts[input] + 1;
        while (taken[static_cast<std::size_t>(at % period)]) ++at;
        taken[static_cast<std::size_t>(at % period)] = true;
        starts[weight] = at;
    }
}

/// The shortest turns with which no rank has two passes at once, now or a period later.
std::optional<std::vector<Starts>> block_starts(int ranks, const VBlock& block) {
    std::vector<Starts> starts(static_cast<std::size_t>(ranks));
    for (int sum = 3; sum <= 3 * period; ++sum)
        for (int up = 1; up <= period; ++up)
            for (int back = 1; back <= period; ++back) {
                const Turns turns{up, back, sum - up - back};
                if (turns[2] < 1 || turns[2] > period) continue;
                bool free = true;
                for (int rank = 0; rank < ranks && free; ++rank) {
                    starts[static_cast<std::size_t>(rank)] = starts_on(rank, ranks, block, turns);
                    free = !collides(starts[static_cast<std::size_t>(rank)]);
                }
                if (!free) continue;
                for (auto& on_rank : starts) place_weights(on_rank);
                return starts;
            }
    return std::nullopt;
}

OpList repeated(const Starts& starts, int micro_batches) {
    // The passes of one period in order of their place in it, each of the micro-batch that is due then.
    std::array<std::size_t, 6> order{0, 1, 2, 3, 4, 5};
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return starts[a] % period < starts[b] % period; });
    const int last = *std::max_element(starts.begin(), starts.end()) / period;
    OpList ops;
    ops.reserve(6 * static_cast<std::size_t>(micro_batches));
    for (int round = 0; round < micro_batches + last; ++round)
        for (const auto pass : order) {
            const int m = round - starts[pass] / period;
            if (m < 0 || m >= micro_batches) continue;
            auto op = passes[pass];
            op.micro_batch = m;
            ops.push_back(op);
        }
    return ops;
}

}  // namespace

std::vector<OpList> v_schedule_ops(const ScheduleShape& shape, const VBlock& block) {
    std::vector<OpList> lists;
    const auto starts = block_starts(shape.ranks, block);
    if (!starts) return lists;
    for (const auto& on_rank : *starts) lists.push_back(repeated(on_rank, shape.micro_batches));
    return lists;
}

}  // namespace plimsoll
