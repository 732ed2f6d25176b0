// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/distributed_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/engine/memory/host_values.h"
#include "core/engine/memory/memory_scope.h"
#include "core/engine/model/init.h"
#include "core/engine/optimizer/offloaded_states.h"
#include "core/plan/recompute_rules.h"
#include "core/schedule/stage_times.h"
#include "core/schedule/times.h"

namespace plimsoll::engine {

using torch::Tensor;

namespace {

bool is_expert(const std::string& name) { return name.find(".experts.") != std::string::npos; }

/// A schedule that puts weight gradients off.
bool splits_backward(const PipelineSchedule& schedule, int rank) {
    const auto& ops = schedule.ops[static_cast<std::size_t>(rank)];
    return std::any_of(ops.begin(), ops.end(), [](const PipelineOp& op) { return op.kind == OpKind::BackwardWeight; });
}

/// A vector counts as a vector wherever it is.
double lr_multiplier(const Optimizer& settings, const Model& model, const std::string& name, bool matrix) {
    if (!matrix) return settings.vector_lr;
    const std::string layer = Decoder::layer_of(name);
    const double group = layer == "embed" ? settings.embedding_lr : layer == "head" ? settings.head_lr : 1;
    return group * mup_rate(model, name);
}

Result<void> sum_flat(std::vector<Tensor> tensors, Collectives& ranks) {
    if (tensors.empty() || ranks.world_size() == 1) return {};
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> flat;
    for (const Tensor& tensor : tensors) flat.push_back(tensor.reshape({-1}));
    const Tensor all = at::cat(flat);
    if (auto summed = ranks.all_reduce_sum(all)->wait(); !summed) return summed;
    std::int64_t at = 0;
    for (Tensor& tensor : tensors) {
        tensor.copy_(all.narrow(0, at, tensor.numel()).view(tensor.sizes()));
        at += tensor.numel();
    }
    return {};
}

}  // namespace

/// Sums over the ranks that hold the rest of a parameter: shards of ZeRO, then slices of tensor parallelism.
class DistributedModel::Sums final : public PartSums {
public:
    explicit Sums(const DistributedModel& model) : model_(model) {}

    Result<void> sum(Over over, const std::vector<std::pair<std::size_t, Tensor>>& values) override {
        // ZeRO's runs are other rows, or other numbers.
        const bool runs = model_.plan_.layout.zero_stage >= 1 && over != Over::Columns;
        std::vector<Tensor> dense, expert, sliced, shared;
        for (const auto& [index, tensor] : values) {
            const Parameter& parameter = model_.parameters_[index];
            if (runs) (parameter.expert ? expert : dense).push_back(tensor);
            const std::int64_t dim = parameter.shard.dim;
            const bool split = over == Over::Parts ? dim >= 0 : over == Over::Rows ? dim == 0 : dim > 0;
            if (!split) continue;
            sliced.push_back(tensor);
            // What several ranks hold counts once.
            tensor.div_(parameter.shard.replicas);
        }
        const Mesh& mesh = *model_.context_.mesh;
        if (auto summed = sum_flat(dense, mesh.data()); !summed) return summed;
        if (auto summed = sum_flat(expert, mesh.expert_data()); !summed) return summed;
        return sum_flat(sliced, mesh.tensor());
    }

private:
    const DistributedModel& model_;
};

DistributedModel::DistributedModel(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule,
                                   torch::Device device)
    : plan_(plan), device_(device), sums_(std::make_unique<Sums>(*this)) {
    context_.plan = &plan;
    context_.mesh = &mesh;
    const bool units_one_by_one = plan.layout.zero_stage >= 3 && !device.is_meta();
    if (device.is_meta() || units_one_by_one) {
        context_.parameters = {torch::dtype(scalar_type(plan.numerics.dtype)).device(device), units_one_by_one};
    }
    const int rank = mesh.position().pp;
    if (rank_recomputes(plan.layout, rank)) context_.recompute = plan.layout.recompute;
    if (splits_backward(schedule, rank)) context_.deferred = std::make_shared<DeferredWeights>();
    tied_over_ranks_ = plan.model.tied_head && schedule.rank_of(0) != schedule.rank_of(schedule.stages() - 1);
    make_chunks(schedule);
    make_parallel();
}

DistributedModel::~DistributedModel() = default;

void DistributedModel::make_chunks(const PipelineSchedule& schedule) {
    const MemoryScope scope(MemoryCategory::Parameters);
    const int rank = context_.mesh->position().pp;
    const std::vector<std::int64_t> layers = layers_per_stage(plan_);
    std::shared_ptr<Embedding> embedding;
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
        const int number = schedule.stage_of(rank, chunk);
        Stage stage;
        for (int before = 0; before < number; ++before) stage.first_layer += layers[static_cast<std::size_t>(before)];
        stage.layers = layers[static_cast<std::size_t>(number)];
        stage.embedding = number == 0;
        stage.head = number + 1 == schedule.stages();
        auto decoder = make_decoder(context_, stage, static_cast<std::uint64_t>(plan_.training.seed), embedding);
        decoder->to(device_);
        decoder->train();
        if (decoder->embedding()) embedding = decoder->embedding();
        chunks_.push_back(std::move(decoder));
    }
}

void DistributedModel::make_parallel() {
    std::vector<ParallelParameter> dense, experts;
    std::vector<Parameter> dense_rows, expert_rows;
    std::vector<std::size_t> first_units;
    std::size_t units = 0;
    for (const auto& chunk : chunks_) {
        first_units.push_back(units);
        const auto shards = shards_of(*chunk);
        for (const auto& [name, tensor] : engine::parameters_of(*chunk)) {
            Parameter row;
            row.shard = shards.at(name);
            row.copy = !row.shard.copy_of.empty();
            row.name = row.copy ? row.shard.copy_of : name;
            if (Decoder::frozen(plan_, name)) {
                frozen_.push_back({row.name, std::move(row.shard), tensor});
                continue;
            }
            row.expert = is_expert(name);
            ParallelParameter parameter{row.name, tensor};
            parameter.unit = units + chunk->unit_of(name);
            parameter.chunk = first_units.size() - 1;
            const bool end = Decoder::layer_of(name) == "embed" || Decoder::layer_of(name) == "head";
            const bool table = end && tensor.dim() == 2;
            parameter.alone = table && plan_.model.tied_head;
            if (context_.parameters.later) {
                parameter.initial = [this, full_name = name, shard = row.shard] {
                    return initial_part(full_name, shard, plan_.model, static_cast<std::uint64_t>(plan_.training.seed));
                };
            }
            // The ends may get several gradients a backward (ties, pieces of the loss).
            parameter.gradients = table ? 0 : 1;
            (row.expert ? experts : dense).push_back(parameter);
            (row.expert ? expert_rows : dense_rows).push_back(std::move(row));
        }
        units += chunk->units();
    }

    DataParallelOptions options;
    options.bucket_bytes = plan_.training.bucket_mib * MiB;
    options.fp32_gradients = plan_.numerics.fp32_gradients && plan_.numerics.dtype != Dtype::Fp32;
    options.reduce_dtype = plan_.numerics.reduce_dtype;
    options.zero_stage = static_cast<int>(plan_.layout.zero_stage);
    options.divisor = context_.mesh->data().world_size();
    options.whole_rows = plan_.optimizer.kind == OptimizerKind::Adafactor;
    const auto place_parameters = [&] {
        auto store = make_parameter_store(plan_.layout, device_);
        if (!store) parameters_placed_ = tl::unexpected(store.error());
        options.parameter_store = store ? std::shared_ptr<StateStore>(std::move(*store)) : nullptr;
    };
    place_parameters();
    dense_ = std::make_unique<DataParallel>(dense, context_.mesh->data(), options);
    if (!experts.empty()) {
        place_parameters();
        experts_ = std::make_unique<DataParallel>(experts, context_.mesh->expert_data(), options);
    }
    const auto add = [&](DataParallel& parallel, std::vector<Parameter>& rows) {
        for (OwnedPart& part : parallel.owned_parts()) {
            Parameter& row = rows[part.parameter];
            row.parallel = &parallel;
            row.part = std::move(part);
            if (options.whole_rows && options.zero_stage >= 1 && row.shard.whole.size() == 2) {
                const std::int64_t columns = row.shard.sizes()[1];
                const std::vector<std::int64_t> sizes{row.part.tensor.numel() / columns, columns};
                row.part.tensor = row.part.tensor.view(sizes);
                row.part.gradient = row.part.gradient.view(sizes);
            }
            parameters_.push_back(std::move(row));
        }
    };
    add(*dense_, dense_rows);
    if (experts_) add(*experts_, expert_rows);
    if (auto places = places_of_parameters(); !places.empty()) {
        held_shards_ = std::make_unique<HeldShards>(std::move(places), nullptr);
    }

    if (options.zero_stage < 3) return;
    std::vector<DataParallel*> parallels{dense_.get()};
    if (experts_) parallels.push_back(experts_.get());
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        const Stage& stage = chunks_[i]->stage();
        gates_.push_back(std::make_unique<ZeroGate>(parallels, first_units[i], chunks_[i]->units(),
                                                    plan_.model.tied_head && stage.embedding && stage.head));
        chunks_[i]->set_gate(gates_.back().get());
    }
}

void DistributedModel::train(bool on) {
    for (const auto& chunk : chunks_) chunk->train(on);
}

std::size_t DistributedModel::bucket_count() const {
    return dense_->bucket_count() + (experts_ ? experts_->bucket_count() : 0);
}

std::vector<HeldShards::Place> DistributedModel::places_of_parameters() const {
    std::vector<HeldShards::Place> places;
    for (const Parameter& parameter : parameters_) {
        places.push_back({parameter.parallel->parameter_store(), parameter.part.bucket});
    }
    const bool away =
        std::any_of(places.begin(), places.end(), [](const auto& place) { return place.store != nullptr; });
    return away ? places : std::vector<HeldShards::Place>();
}

Result<void> DistributedModel::broadcast_parameters() {
    if (!parameters_placed_) return parameters_placed_;
    if (auto sent = dense_->broadcast_parameters(); !sent || !experts_) return sent;
    return experts_->broadcast_parameters();
}

void DistributedModel::zero_gradients() {
    dense_->zero_gradients();
    if (experts_) experts_->zero_gradients();
}

void DistributedModel::prepare_backward(bool reduce) {
    measure_first_micro_batch();
    dense_->prepare_backward(reduce);
    if (experts_) experts_->prepare_backward(reduce);
}

void DistributedModel::reduce_chunk(int number) {
    dense_->reduce_chunk(static_cast<std::size_t>(number));
    if (experts_) experts_->reduce_chunk(static_cast<std::size_t>(number));
}

std::size_t DistributedModel::overlapped_buckets() const {
    return dense_->overlapped_buckets() + (experts_ ? experts_->overlapped_buckets() : 0);
}

Result<void> DistributedModel::finish_backward() {
    auto dense = dense_->finish();
    if (!experts_) return dense;
    auto experts = experts_->finish();
    return dense ? experts : dense;
}

Result<void> DistributedModel::sum_gradients(const std::vector<std::size_t>& parameters, Collectives& ranks) {
    std::map<torch::ScalarType, std::vector<Tensor>> by_dtype;
    for (const std::size_t i : parameters) {
        const Tensor& gradient = parameters_[i].part.gradient;
        by_dtype[gradient.scalar_type()].push_back(gradient);
    }
    for (const auto& [dtype, tensors] : by_dtype) {
        if (auto summed = sum_flat(tensors, ranks); !summed) return summed;
    }
    return {};
}

Result<void> DistributedModel::finish_gradients() {
    std::vector<std::size_t> over_tensor, over_heads, tied;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const Parameter& parameter = parameters_[i];
        if (parameter.shard.gradient == Shard::Gradient::PartOverTensor) over_tensor.push_back(i);
        if (parameter.shard.gradient == Shard::Gradient::PartOverSharedHeads) over_heads.push_back(i);
        const FamilyNames names = names_of(plan_.model.family);
        if (tied_over_ranks_ && parameter.name == names.body + "." + names.embedding + ".weight") tied.push_back(i);
    }
    const Mesh& mesh = *context_.mesh;
    if (auto summed = sum_gradients(over_tensor, mesh.tensor()); !summed) return summed;
    if (auto summed = sum_gradients(over_heads, mesh.shared_heads()); !summed) return summed;
    return sum_gradients(tied, mesh.ends());
}

bool DistributedModel::speaks_for(const Parameter& parameter, bool of_data_group) const {
    if (parameter.copy || context_.tp_rank() % parameter.shard.replicas != 0) return false;
    return !of_data_group || data_group(parameter.expert).rank() == 0;
}

/// An accelerator's optimizer that is offloaded computes where its states are.
bool DistributedModel::states_in_host_memory() const {
    return plan_.layout.offload_optimizer != Offload::None && !on_cpu(device_);
}

Result<void> DistributedModel::make_optimizer(const Optimizer& settings) {
    const MemoryScope scope(MemoryCategory::Optimizer);
    std::vector<OptimizedPart> parts;
    for (const Parameter& parameter : parameters_) {
        OptimizedPart part;
        part.name = parameter.name;
        part.parameter = parameter.part.tensor;
        part.decay = parameter.shard.whole.size() >= 2;
        part.lr_multiplier = lr_multiplier(settings, plan_.model, parameter.name, part.decay);
        part.rows = parameter.shard.whole.front();
        part.columns = c10::multiply_integers(parameter.shard.whole) / part.rows;
        parts.push_back(std::move(part));
    }
    std::optional<HostMemoryScope> host;
    if (states_in_host_memory()) host.emplace();
    make_tensor_clip(settings);
    PLIMSOLL_TRY(auto store, make_state_store(plan_.layout, device_));
    if (held_shards_) {
        auto shards = std::make_unique<HeldShards>(places_of_parameters(), std::move(store));
        optimizer_shards_ = shards.get();
        store = std::move(shards);
    }
    PLIMSOLL_TRY(auto made, engine::make_optimizer(std::move(parts), settings, sums_.get(), std::move(store)));
    optimizer_ = std::move(made);
    if (optimizer_shards_ != nullptr) optimizer_shards_->put_back();
    return {};
}

Result<void> DistributedModel::step(double lr, double inv_scale, double clip_factor) {
    const MemoryScope scope(MemoryCategory::Optimizer);
    std::vector<Tensor> gradients;
    for (const Parameter& parameter : parameters_) gradients.push_back(parameter.part.gradient);
    {
        std::optional<HostMemoryScope> host;
        if (states_in_host_memory()) host.emplace();
        if (auto stepped = optimizer_->step(gradients, lr, inv_scale, clip_factor); !stepped) return stepped;
    }
    if (optimizer_shards_ != nullptr) optimizer_shards_->put_back();
    if (auto shared = dense_->share_parameters(); !shared || !experts_) return shared;
    return experts_->share_parameters();
}

std::vector<DistributedModel::Run> DistributedModel::runs() const {
    std::vector<Run> runs;
    for (const Parameter& each : parameters_) runs.push_back({each.name, each.part.tensor, each.part.gradient});
    return runs;
}

/// From flat runs (ZeRO) to this rank's slices of the parameters.
Result<std::vector<Tensor>> DistributedModel::slices(const std::vector<Tensor>& runs) const {
    std::vector<Tensor> dense, experts;
    for (std::size_t i = 0; i < parameters_.size(); ++i) (parameters_[i].expert ? experts : dense).push_back(runs[i]);
    auto whole = dense_->whole(dense);
    if (!whole || !experts_) return whole;
    auto more = experts_->whole(experts);
    if (!more) return more;
    whole->insert(whole->end(), more->begin(), more->end());
    return whole;
}

Result<NamedTensors> DistributedModel::whole(const std::vector<Tensor>& runs) {
    PLIMSOLL_TRY(const auto own, slices(runs));
    std::vector<TensorPart> parts;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const Parameter& parameter = parameters_[i];
        if (speaks_for(parameter, true)) parts.push_back({parameter.name, parameter.shard, own[i].detach()});
    }
    return gather_on_first_rank(parts, context_.mesh->world(), device_);
}

Result<NamedTensors> DistributedModel::whole_weights() {
    std::vector<Tensor> runs;
    for (const Parameter& parameter : parameters_) runs.push_back(parameter.part.tensor);
    return whole(runs);
}

Result<NamedTensors> DistributedModel::whole_gradients() {
    std::vector<Tensor> runs;
    for (const Parameter& parameter : parameters_) runs.push_back(parameter.part.gradient);
    return whole(runs);
}

Result<NamedTensors> DistributedModel::whole_optimizer_state() {
    std::vector<TensorPart> parts;
    // States of one kind ("exp_avg/…") are there for each part, so they travel kind by kind.
    std::map<std::string, std::vector<OptimizerState>> kinds;
    for (OptimizerState& state : optimizer_->state()) {
        kinds[state.name.substr(0, state.name.find('/'))].push_back(std::move(state));
    }
    if (optimizer_shards_ != nullptr) optimizer_shards_->put_back();
    for (const auto& [kind, states] : kinds) {
        std::vector<Tensor> runs(parameters_.size());
        bool shaped_like_parts = false;
        for (const OptimizerState& state : states) {
            if (state.shape != StateShape::Part) {
                const Parameter& parameter = parameters_[state.part];
                const bool rows = state.shape == StateShape::Rows;
                // Of its rows each rank knows its own; of the columns all of them know all.
                if (!speaks_for(parameter, !(rows && plan_.layout.zero_stage >= 1))) continue;
                parts.push_back({state.name, vector_shard(parameter, state.shape), state.tensor});
                continue;
            }
            runs[state.part] = state.tensor;
            shaped_like_parts = true;
        }
        if (!shaped_like_parts) continue;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (!runs[i].defined()) runs[i] = at::zeros_like(parameters_[i].part.tensor, torch::kFloat);
        }
        PLIMSOLL_TRY(const auto own, slices(runs));
        for (const OptimizerState& state : states) {
            if (state.shape != StateShape::Part || !speaks_for(parameters_[state.part], true)) continue;
            parts.push_back({state.name, parameters_[state.part].shard, own[state.part]});
        }
    }
    add_tensor_clip(parts);
    return gather_on_first_rank(parts, context_.mesh->world(), device_);
}

/// Which part of a number a row, or a column, of the whole parameter this rank has.
Shard DistributedModel::vector_shard(const Parameter& parameter, StateShape shape) const {
    const bool rows = shape == StateShape::Rows;
    const std::int64_t row_count = parameter.shard.whole.front();
    Shard shard;
    shard.whole = {rows ? row_count : c10::multiply_integers(parameter.shard.whole) / row_count};
    if (parameter.shard.dim == (rows ? 0 : 1)) {
        shard.dim = 0;
        shard.ranges = parameter.shard.ranges;
    }
    if (!rows || plan_.layout.zero_stage == 0) return shard;
    const std::int64_t columns = parameter.part.tensor.size(1);
    const std::int64_t first = shard.dim == 0 ? shard.ranges.front().first : 0;
    shard.dim = 0;
    shard.ranges = {{first + parameter.part.begin / columns, parameter.part.tensor.size(0)}};
    return shard;
}

Tensor DistributedModel::own_run(const Parameter& parameter, const Tensor& whole) const {
    const Tensor slice = parameter.shard.cut(whole);
    if (plan_.layout.zero_stage == 0) return slice;
    return slice.view(-1)
        .narrow(0, parameter.part.begin, parameter.part.tensor.numel())
        .view(parameter.part.tensor.sizes());
}

namespace {

Result<void> require_tensor(const std::map<std::string_view, Tensor>& by_name, const std::string& name,
                            const Shard& shard, torch::ScalarType dtype, const std::string& what) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return bad_input("{} lacks {}; it is of another model", what, name);
    const bool fits = found->second.sizes() == at::IntArrayRef(shard.whole) && found->second.scalar_type() == dtype;
    if (fits) return {};
    return bad_input("{} of {} has another shape or dtype than in the plan's model", name, what);
}

}  // namespace

Result<void> DistributedModel::load_frozen(const NamedTensors& whole, const std::string& what) {
    const std::map<std::string_view, Tensor> by_name(whole.begin(), whole.end());
    for (const Frozen& each : frozen_) {
        auto there = require_tensor(by_name, each.name, each.shard, each.tensor.scalar_type(), what);
        if (!there) return there;
    }
    const torch::NoGradGuard no_grad;
    for (Frozen& each : frozen_) each.tensor.copy_(each.shard.cut(by_name.at(each.name)));
    return {};
}

Result<void> DistributedModel::load_weights(const NamedTensors& whole, const std::string& what) {
    const std::map<std::string_view, Tensor> by_name(whole.begin(), whole.end());
    for (const Parameter& each : parameters_) {
        auto there = require_tensor(by_name, each.name, each.shard, each.part.tensor.scalar_type(), what);
        if (!there) return there;
    }
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        PLIMSOLL_CHECK(HeldStates::hold(held_shards_.get(), i));
        parameters_[i].part.tensor.copy_(own_run(parameters_[i], by_name.at(parameters_[i].name)));
    }
    if (held_shards_) held_shards_->put_back();
    if (auto shared = dense_->share_parameters(); !shared || !experts_) return shared;
    return experts_->share_parameters();
}

Result<void> DistributedModel::load_optimizer_state(const NamedTensors& whole, std::int64_t steps) {
    const std::map<std::string_view, Tensor> by_name(whole.begin(), whole.end());
    if (auto loaded = load_tensor_clip(by_name, steps); !loaded) return loaded;
    NamedTensors own;
    for (const OptimizerState& state : optimizer_->state()) {
        const auto found = by_name.find(state.name);
        if (found == by_name.end()) {
            return bad_input("the optimizer state lacks {}; it belongs to another model", state.name);
        }
        const Parameter& parameter = parameters_[state.part];
        if (state.shape == StateShape::Part) {
            if (found->second.sizes() != at::IntArrayRef(parameter.shard.whole)) {
                return bad_input(
                    "{} of the optimizer state has another shape than in this model; it belongs to another model",
                    state.name);
            }
            own.emplace_back(state.name, own_run(parameter, found->second).view(state.tensor.sizes()));
            continue;
        }
        own.emplace_back(state.name, vector_shard(parameter, state.shape).cut(found->second));
    }
    auto loaded = optimizer_->load_state(own, steps);
    if (optimizer_shards_ != nullptr) optimizer_shards_->put_back();
    return loaded;
}

}  // namespace plimsoll::engine
