// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/rank_parameters.h"

#include <algorithm>

#include "core/engine/model/init.h"

namespace plimsoll::engine {

using torch::Tensor;

namespace {

bool is_expert(const std::string& name) { return name.find(".experts.") != std::string::npos; }

}  // namespace

RankParameters::RankParameters(const ModelStages& stages) : stages_(stages) {
    Group dense, experts;
    std::vector<std::size_t> first_units;
    std::size_t units = 0;
    for (const auto& chunk : stages.all()) {
        collect(*chunk, first_units.size(), units, dense, experts);
        first_units.push_back(units);
        units += chunk->units();
    }
    dense_ = make_group(dense, stages.mesh().data(), options());
    if (!experts.parameters.empty()) experts_ = make_group(experts, stages.mesh().expert_data(), options());
    add(*dense_, dense);
    if (experts_) add(*experts_, experts);
    if (stages.plan().layout.zero_stage >= 3) make_gates(first_units);
}

/// Adds the parameters of a chunk to their groups. The chunk's units are numbered from `first_unit`.
void RankParameters::collect(const Decoder& chunk, std::size_t number, std::size_t first_unit, Group& dense,
                             Group& experts) {
    const Plan& plan = stages_.plan();
    const auto shards = shards_of(chunk);
    for (const auto& [name, tensor] : parameters_of(chunk)) {
        RankParameter row;
        row.shard = shards.at(name);
        row.copy = !row.shard.copy_of.empty();
        row.name = row.copy ? row.shard.copy_of : name;
        if (Decoder::frozen(plan, name)) {
            frozen_.push_back({row.name, std::move(row.shard), tensor});
            continue;
        }
        row.expert = is_expert(name);
        ParallelParameter parameter{row.name, tensor};
        parameter.unit = first_unit + chunk.unit_of(name);
        parameter.chunk = number;
        const bool end = Decoder::layer_of(name) == "embed" || Decoder::layer_of(name) == "head";
        const bool table = end && tensor.dim() == 2;
        parameter.alone = table && plan.model.tied_head;
        if (stages_.context().parameters.later) {
            parameter.initial = [&plan, full_name = name, shard = row.shard] {
                return initial_part(full_name, shard, plan.model, static_cast<std::uint64_t>(plan.training.seed));
            };
        }
        // The ends may get several gradients a backward (ties, pieces of the loss).
        parameter.gradients = table ? 0 : 1;
        Group& group = row.expert ? experts : dense;
        group.parameters.push_back(std::move(parameter));
        group.rows.push_back(std::move(row));
    }
}

DataParallelOptions RankParameters::options() const {
    const Plan& plan = stages_.plan();
    DataParallelOptions options;
    options.bucket_bytes = plan.training.bucket_mib * MiB;
    options.fp32_gradients = plan.numerics.fp32_gradients && plan.numerics.dtype != Dtype::Fp32;
    options.reduce_dtype = plan.numerics.reduce_dtype;
    options.zero_stage = static_cast<int>(plan.layout.zero_stage);
    options.divisor = stages_.mesh().data().world_size();
    options.whole_rows = plan.optimizer.kind == OptimizerKind::Adafactor;
    return options;
}

std::unique_ptr<DataParallel> RankParameters::make_group(const Group& group, Collectives& ranks,
                                                         DataParallelOptions options) {
    auto store = make_parameter_store(stages_.plan().layout, stages_.device());
    if (!store) placed_ = tl::unexpected(store.error());
    options.parameter_store = store ? std::shared_ptr<StateStore>(std::move(*store)) : nullptr;
    return std::make_unique<DataParallel>(group.parameters, ranks, options);
}

/// Adds the parts of a group's parameters that this rank owns. With whole rows, parts of matrices are matrices.
void RankParameters::add(DataParallel& parallel, Group& group) {
    const Plan& plan = stages_.plan();
    const bool whole_rows = plan.optimizer.kind == OptimizerKind::Adafactor && plan.layout.zero_stage >= 1;
    for (OwnedPart& part : parallel.shards().owned_parts()) {
        RankParameter& row = group.rows[part.parameter];
        row.parallel = &parallel;
        row.part = std::move(part);
        if (whole_rows && row.shard.whole.size() == 2) {
            const std::int64_t columns = row.shard.sizes()[1];
            const std::vector<std::int64_t> sizes{row.part.tensor.numel() / columns, columns};
            row.part.tensor = row.part.tensor.view(sizes);
            row.part.gradient = row.part.gradient.view(sizes);
        }
        all_.push_back(std::move(row));
    }
}

void RankParameters::make_gates(const std::vector<std::size_t>& first_units) {
    std::vector<GatherAndRelease*> groups{&dense_->gathering()};
    if (experts_) groups.push_back(&experts_->gathering());
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        Decoder& chunk = stages_[i];
        const bool embedding_in_head = stages_.plan().model.tied_head && chunk.stage().embedding && chunk.stage().head;
        gates_.push_back(std::make_unique<ZeroGate>(groups, first_units[i], chunk.units(), embedding_in_head));
        chunk.set_gate(gates_.back().get());
    }
}

std::vector<Tensor> RankParameters::tensors() const {
    std::vector<Tensor> tensors;
    for (const RankParameter& parameter : all_) tensors.push_back(parameter.part.tensor);
    return tensors;
}

std::vector<Tensor> RankParameters::gradients() const {
    std::vector<Tensor> gradients;
    for (const RankParameter& parameter : all_) gradients.push_back(parameter.part.gradient);
    return gradients;
}

bool RankParameters::speaks_for(const RankParameter& parameter, bool of_data_group) const {
    const Mesh& mesh = stages_.mesh();
    if (parameter.copy || stages_.context().tp_rank() % parameter.shard.replicas != 0) return false;
    return !of_data_group || (parameter.expert ? mesh.expert_data() : mesh.data()).rank() == 0;
}

Result<std::vector<Tensor>> RankParameters::slices(const std::vector<Tensor>& ranges) const {
    std::vector<Tensor> dense, experts;
    for (std::size_t i = 0; i < all_.size(); ++i) (all_[i].expert ? experts : dense).push_back(ranges[i]);
    auto whole = dense_->shards().whole(dense);
    if (!whole || !experts_) return whole;
    auto more = experts_->shards().whole(experts);
    if (!more) return more;
    whole->insert(whole->end(), more->begin(), more->end());
    return whole;
}

Tensor RankParameters::own_range(const RankParameter& parameter, const Tensor& whole) const {
    const Tensor slice = parameter.shard.cut(whole);
    if (stages_.plan().layout.zero_stage == 0) return slice;
    return slice.view(-1)
        .narrow(0, parameter.part.begin, parameter.part.tensor.numel())
        .view(parameter.part.tensor.sizes());
}

std::vector<HeldShards::Place> RankParameters::places() const {
    std::vector<HeldShards::Place> places;
    for (const RankParameter& parameter : all_) {
        places.push_back({parameter.parallel->parameter_store(), parameter.part.bucket});
    }
    const bool away =
        std::any_of(places.begin(), places.end(), [](const auto& place) { return place.store != nullptr; });
    return away ? places : std::vector<HeldShards::Place>();
}

Result<void> RankParameters::broadcast() {
    if (!placed_) return placed_;
    if (auto sent = dense_->broadcast_parameters(); !sent || !experts_) return sent;
    return experts_->broadcast_parameters();
}

void RankParameters::zero_gradients() {
    dense_->zero_gradients();
    if (experts_) experts_->zero_gradients();
}

void RankParameters::prepare_backward(bool reduce) {
    dense_->prepare_backward(reduce);
    if (experts_) experts_->prepare_backward(reduce);
}

void RankParameters::reduce_chunk(std::size_t chunk) {
    dense_->reduce_chunk(chunk);
    if (experts_) experts_->reduce_chunk(chunk);
}

Result<void> RankParameters::finish_backward() {
    auto dense = dense_->finish();
    if (!experts_) return dense;
    auto experts = experts_->finish();
    return dense ? experts : dense;
}

Result<void> RankParameters::share() {
    if (auto shared = dense_->shards().share_parameters(); !shared || !experts_) return shared;
    return experts_->shards().share_parameters();
}

std::size_t RankParameters::bucket_count() const {
    return dense_->bucket_count() + (experts_ ? experts_->bucket_count() : 0);
}

std::size_t RankParameters::overlapped_buckets() const {
    return dense_->overlapped_buckets() + (experts_ ? experts_->overlapped_buckets() : 0);
}

}  // namespace plimsoll::engine
