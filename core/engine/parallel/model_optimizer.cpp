// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/model_optimizer.h"

#include <map>
#include <optional>

#include "core/engine/memory/memory_scope.h"
#include "core/engine/model/init.h"
#include "core/engine/optimizer/offloaded_states.h"

namespace plimsoll::engine {

using torch::Tensor;

namespace {

/// A vector counts as a vector wherever it is.
double lr_multiplier(const Optimizer& settings, const Model& model, const std::string& name, bool matrix) {
    if (!matrix) return settings.vector_lr;
    const std::string layer = Decoder::layer_of(name);
    const double group = layer == "embed" ? settings.embedding_lr : layer == "head" ? settings.head_lr : 1;
    return group * mup_rate(model, name);
}

}  // namespace

/// An accelerator's optimizer that is offloaded computes where its states are.
bool ModelOptimizer::states_in_host_memory() const {
    return stages_.plan().layout.offload_optimizer != Offload::None && !on_cpu(stages_.device());
}

std::vector<OptimizedPart> ModelOptimizer::parts(const Optimizer& settings) const {
    std::vector<OptimizedPart> parts;
    for (const RankParameter& parameter : parameters_.all()) {
        OptimizedPart part;
        part.name = parameter.name;
        part.parameter = parameter.part.tensor;
        part.decay = parameter.shard.whole.size() >= 2;
        part.lr_multiplier = lr_multiplier(settings, stages_.plan().model, parameter.name, part.decay);
        part.rows = parameter.shard.whole.front();
        part.columns = c10::multiply_integers(parameter.shard.whole) / part.rows;
        part.shard = parameter.shard;
        part.begin = parameter.part.begin;
        parts.push_back(std::move(part));
    }
    return parts;
}

WeightUpdates ModelOptimizer::weight_updates() const {
    const Numerics& numerics = stages_.plan().numerics;
    const auto seed = static_cast<std::uint64_t>(stages_.plan().training.seed);
    return {numerics.weights != WeightCopies::Pure, numerics.rounding, seed};
}

Result<void> ModelOptimizer::make(const Optimizer& settings) {
    const MemoryScope scope(MemoryCategory::Optimizer);
    std::optional<HostMemoryScope> host;
    if (states_in_host_memory()) host.emplace();
    PLIMSOLL_TRY(auto store, make_state_store(stages_.plan().layout, stages_.device()));
    if (auto places = parameters_.places(); !places.empty()) {
        auto shards = std::make_unique<HeldShards>(std::move(places), std::move(store));
        shards_ = shards.get();
        store = std::move(shards);
    }
    PLIMSOLL_TRY(auto made, make_optimizer(parts(settings), settings, &sums_, std::move(store), weight_updates()));
    optimizer_ = std::move(made);
    put_back();
    return {};
}

/// Puts the shard of parameters that was used last back to its place.
void ModelOptimizer::put_back() const {
    if (shards_ != nullptr) shards_->put_back();
}

Result<void> ModelOptimizer::step(double lr, double inv_scale, double clip_factor) {
    const std::vector<Tensor> gradients = parameters_.gradients();
    {
        std::optional<HostMemoryScope> host;
        if (states_in_host_memory()) host.emplace();
        if (auto stepped = optimizer_->step(gradients, lr, inv_scale, clip_factor); !stepped) return stepped;
    }
    put_back();
    return {};
}

Result<std::vector<TensorPart>> ModelOptimizer::whole_state() const {
    std::map<std::string, std::vector<OptimizerState>> kinds;
    for (OptimizerState& state : optimizer_->state()) {
        kinds[state.name.substr(0, state.name.find('/'))].push_back(std::move(state));
    }
    put_back();
    std::vector<TensorPart> parts;
    for (const auto& [kind, states] : kinds) {
        PLIMSOLL_CHECK(add_kind(states, parts));
    }
    return parts;
}

Result<void> ModelOptimizer::add_kind(const std::vector<OptimizerState>& states, std::vector<TensorPart>& parts) const {
    const std::vector<RankParameter>& parameters = parameters_.all();
    std::vector<Tensor> ranges(parameters.size());
    torch::ScalarType dtype = torch::kFloat;
    bool shaped_like_parts = false;
    for (const OptimizerState& state : states) {
        if (state.shape != StateShape::Part) {
            const RankParameter& parameter = parameters[state.part];
            const bool rows = state.shape == StateShape::Rows;
            // Of its rows each rank knows its own; of the columns all of them know all.
            if (!parameters_.speaks_for(parameter, !(rows && stages_.plan().layout.zero_stage >= 1))) continue;
            parts.push_back({state.name, vector_shard(parameter, state.shape), state.tensor});
            continue;
        }
        ranges[state.part] = state.tensor;
        dtype = state.tensor.scalar_type();
        shaped_like_parts = true;
    }
    if (!shaped_like_parts) return {};
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (!ranges[i].defined()) ranges[i] = at::zeros_like(parameters[i].part.tensor, dtype);
    }
    PLIMSOLL_TRY(const auto own, parameters_.slices(ranges));
    for (const OptimizerState& state : states) {
        if (state.shape != StateShape::Part || !parameters_.speaks_for(parameters[state.part], true)) continue;
        parts.push_back({state.name, parameters[state.part].shard, own[state.part]});
    }
    return {};
}

/// Which part of a number a row, or a column, of the whole parameter this rank has.
Shard ModelOptimizer::vector_shard(const RankParameter& parameter, StateShape shape) const {
    const bool rows = shape == StateShape::Rows;
    const std::int64_t row_count = parameter.shard.whole.front();
    Shard shard;
    shard.whole = {rows ? row_count : c10::multiply_integers(parameter.shard.whole) / row_count};
    if (parameter.shard.dim == (rows ? 0 : 1)) {
        shard.dim = 0;
        shard.ranges = parameter.shard.ranges;
    }
    if (!rows || stages_.plan().layout.zero_stage == 0) return shard;
    const std::int64_t columns = parameter.part.tensor.size(1);
    const std::int64_t first = shard.dim == 0 ? shard.ranges.front().first : 0;
    shard.dim = 0;
    shard.ranges = {{first + parameter.part.begin / columns, parameter.part.tensor.size(0)}};
    return shard;
}

Result<void> ModelOptimizer::load_state(const std::map<std::string_view, Tensor>& whole, std::int64_t steps) {
    NamedTensors own;
    for (const OptimizerState& state : optimizer_->state()) {
        const auto found = whole.find(state.name);
        if (found == whole.end()) {
            return bad_input("the optimizer state lacks {}; it belongs to another model", state.name);
        }
        const RankParameter& parameter = parameters_.all()[state.part];
        if (state.shape == StateShape::Part) {
            if (found->second.sizes() != at::IntArrayRef(parameter.shard.whole)) {
                return bad_input(
                    "{} of the optimizer state has another shape than in this model; it belongs to another model",
                    state.name);
            }
            own.emplace_back(state.name, parameters_.own_range(parameter, found->second).view(state.tensor.sizes()));
            continue;
        }
        own.emplace_back(state.name, vector_shard(parameter, state.shape).cut(found->second));
    }
    auto loaded = optimizer_->load_state(own, steps);
    put_back();
    return loaded;
}

}  // namespace plimsoll::engine
