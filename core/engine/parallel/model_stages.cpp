// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/model_stages.h"

#include <algorithm>

#include "core/engine/memory/memory_scope.h"
#include "core/plan/recompute_rules.h"
#include "core/schedule/stage_times.h"

namespace plimsoll::engine {

namespace {

/// Whether the schedule puts weight gradients off.
bool splits_backward(const PipelineSchedule& schedule, int rank) {
    const auto& ops = schedule.ops[static_cast<std::size_t>(rank)];
    return std::any_of(ops.begin(), ops.end(), [](const PipelineOp& op) { return op.kind == OpKind::BackwardWeight; });
}

}  // namespace

ModelStages::ModelStages(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule, torch::Device device)
    : device_(device),
      tied_over_ranks_(plan.model.tied_head && schedule.rank_of(0) != schedule.rank_of(schedule.stages() - 1)) {
    context_.plan = &plan;
    context_.mesh = &mesh;
    const bool units_one_by_one = plan.layout.zero_stage >= 3 && !device.is_meta();
    if (device.is_meta() || units_one_by_one) {
        context_.parameters = {torch::dtype(scalar_type(plan.numerics.weight_dtype())).device(device),
                               units_one_by_one};
    }
    const int rank = mesh.position().pp;
    if (rank_recomputes(plan.layout, rank)) context_.recompute = plan.layout.recompute;
    if (splits_backward(schedule, rank)) context_.deferred = std::make_shared<DeferredWeights>();

    const MemoryScope scope(MemoryCategory::Parameters);
    std::shared_ptr<Embedding> embedding;
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) make_chunk(schedule, chunk, embedding);
}

/// `embedding`: that of an earlier chunk, for a tied head.
void ModelStages::make_chunk(const PipelineSchedule& schedule, int chunk, std::shared_ptr<Embedding>& embedding) {
    const std::vector<std::int64_t> layers = layers_per_stage(plan());
    const int number = schedule.stage_of(mesh().position().pp, chunk);
    Stage stage;
    for (int before = 0; before < number; ++before) stage.first_layer += layers[static_cast<std::size_t>(before)];
    stage.layers = layers[static_cast<std::size_t>(number)];
    stage.embedding = number == 0;
    stage.head = number + 1 == schedule.stages();
    auto decoder = make_decoder(context_, stage, static_cast<std::uint64_t>(plan().training.seed), embedding);
    decoder->to(device_);
    decoder->train();
    if (decoder->embedding()) embedding = decoder->embedding();
    chunks_.push_back(std::move(decoder));
}

}  // namespace plimsoll::engine
