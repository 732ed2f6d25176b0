// SPDX-License-Identifier: Apache-2.0
// The balanced split of a plan's own layers.
#include "core/schedule/plan_partition.h"

#include <numeric>

#include "core/plan/recompute_rules.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

/// Times of a layer's step on a rank that recomputes and on one that does not, and of the head's, in the units of
/// relative_stage_times.
struct LayerCosts {
    std::vector<Seconds> recomputed, kept;
    Seconds head = 0;
};

std::vector<Seconds> layer_times(const Plan& plan) {
    const auto count = plan.model.encoder_decoder() ? 2 * plan.model.num_layers : plan.model.num_layers;
    // One stage a layer; the last stage also holds the head.
    const auto times = relative_stage_times(plan, std::vector<std::int64_t>(static_cast<std::size_t>(count), 1));
    std::vector<Seconds> sums;
    for (std::size_t l = 0; l < times.forward.size(); ++l)
        sums.push_back(times.forward[l] + times.backward_input[l] + times.backward_weight[l]);
    return sums;
}

LayerCosts layer_costs(const Plan& plan) {
    auto everywhere = plan, nowhere = plan;
    everywhere.layout.recompute_stages = 0;
    nowhere.layout.recompute = Recompute::None;
    LayerCosts costs{layer_times(everywhere), layer_times(nowhere), 0};
    const auto count = costs.kept.size();
    if (count < 2) return costs;
    costs.head = costs.kept[count - 1] - costs.kept[count - 2];
    costs.kept.back() -= costs.head;
    costs.recomputed.back() -= costs.head;
    return costs;
}

/// The time of layers `from` to `to` - 1 in a stage, by sums of all layers before each.
class PlanCost {
public:
    PlanCost(const Plan& plan, int stages) : stages_(stages) {
        const auto costs = layer_costs(plan);
        head_ = costs.head;
        recomputed_ = sums(costs.recomputed);
        kept_ = sums(costs.kept);
        const auto where = stages_on_ranks(plan);
        for (int stage = 0; stage < stages; ++stage)
            recomputes_.push_back(rank_recomputes(plan.layout, where.rank_of(stage)));
    }
    std::size_t layers() const { return kept_.size() - 1; }
    Seconds operator()(int stage, std::size_t from, std::size_t to) const {
        const auto& before = recomputes_[static_cast<std::size_t>(stage)] ? recomputed_ : kept_;
        return before[to] - before[from] + (stage + 1 == stages_ ? head_ : 0);
    }

private:
    static std::vector<Seconds> sums(const std::vector<Seconds>& times) {
        std::vector<Seconds> before(times.size() + 1, 0);
        std::partial_sum(times.begin(), times.end(), before.begin() + 1);
        return before;
    }
    int stages_;
    Seconds head_ = 0;
    std::vector<Seconds> recomputed_, kept_;
    std::vector<bool> recomputes_;
};

}  // namespace

Result<Partition> balanced_partition(const Plan& plan) {
    const auto stages = std::max<std::int64_t>(plan.layout.pp, 1) * chunks_per_rank(plan);
    const auto most = (plan.model.encoder_decoder() ? 2 : 1) * plan.model.num_layers;
    if (stages > most)
        return bad_input("{} stages are more than the {} layers, and each needs one; take {} stages or fewer", stages,
                         most, most);
    const PlanCost cost(plan, static_cast<int>(stages));
    return balanced_partition(cost.layers(), static_cast<int>(stages), cost);
}

Partition partition_of(const Plan& plan) {
    const auto layers = layers_per_stage(plan);
    const PlanCost cost(plan, static_cast<int>(layers.size()));
    return partition_of(layers, cost.layers(), cost);
}

}  // namespace plimsoll
