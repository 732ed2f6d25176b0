// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/sharded_weights.h"

#include <map>
#include <string_view>

namespace plimsoll::engine {

using torch::Tensor;

namespace {

using TensorsByName = std::map<std::string_view, Tensor>;

Result<void> require_tensor(const TensorsByName& by_name, const std::string& name, const Shard& shard,
                            torch::ScalarType dtype, const std::string& what) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return bad_input("{} lacks {}; it is of another model", what, name);
    const bool fits = found->second.sizes() == at::IntArrayRef(shard.whole) && found->second.scalar_type() == dtype;
    if (fits) return {};
    return bad_input("{} of {} has another shape or dtype than in the plan's model", name, what);
}

}  // namespace

ShardedWeights::ShardedWeights(const ModelStages& stages, RankParameters& parameters)
    : stages_(stages), parameters_(parameters) {
    if (auto places = parameters.places(); !places.empty()) {
        held_ = std::make_unique<HeldShards>(std::move(places), nullptr);
    }
}

Result<NamedTensors> ShardedWeights::gathered(const std::vector<Tensor>& ranges) const {
    PLIMSOLL_TRY(const auto own, parameters_.slices(ranges));
    std::vector<TensorPart> parts;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const RankParameter& parameter = parameters_.all()[i];
        if (!parameters_.speaks_for(parameter, true)) continue;
        parts.push_back({parameter.name, parameter.shard, own[i].detach()});
    }
    return gather_on_first_rank(parts, stages_.mesh().world());
}

Result<void> ShardedWeights::load_frozen(const NamedTensors& whole, const std::string& what) {
    const TensorsByName by_name(whole.begin(), whole.end());
    for (const FrozenParameter& each : parameters_.frozen()) {
        auto there = require_tensor(by_name, each.name, each.shard, each.tensor.scalar_type(), what);
        if (!there) return there;
    }
    const torch::NoGradGuard no_grad;
    for (FrozenParameter& each : parameters_.frozen()) each.tensor.copy_(each.shard.cut(by_name.at(each.name)));
    return {};
}

Result<void> ShardedWeights::load(const NamedTensors& whole, const std::string& what) {
    const TensorsByName by_name(whole.begin(), whole.end());
    for (const RankParameter& each : parameters_.all()) {
        auto there = require_tensor(by_name, each.name, each.shard, each.part.tensor.scalar_type(), what);
        if (!there) return there;
    }
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.all().size(); ++i) {
        const RankParameter& each = parameters_.all()[i];
        PLIMSOLL_TRY(const auto held, HeldStates::hold(held_.get(), i));
        each.part.tensor.copy_(parameters_.own_range(each, by_name.at(each.name)));
    }
    if (held_) held_->put_back();
    return parameters_.share();
}

}  // namespace plimsoll::engine
