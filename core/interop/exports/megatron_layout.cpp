// SPDX-License-Identifier: Apache-2.0
// The layout in Megatron-LM's arguments.
#include <algorithm>

#include "core/interop/exports/megatron_parts.h"
#include "core/schedule/stage_times.h"

namespace plimsoll::exports::megatron_lm {

namespace {

/// Experts on tensor-parallel ranks need sequence parallelism (megatron/core/transformer/moe/moe_layer.py:636).
bool routes_over_tp(const Plan& plan) { return plan.model.moe() && plan.layout.tp > 1; }

bool is_interleaved(const Layout& layout) {
    return layout.pp > 1 && layout.schedule == Schedule::Interleaved && layout.chunks > 1;
}

/// The plan under the schedule that Megatron-LM runs in its place.
Plan as_it_runs(Plan plan) {
    if (!is_interleaved(plan.layout)) plan.layout.schedule = Schedule::OneFOneB;
    return plan;
}

void stages(CommandLine& line, const Plan& plan, Notes& notes) {
    const Layout& layout = plan.layout;
    if (layout.pp == 1) return;
    if (layout.schedule != Schedule::Interleaved && layout.schedule != Schedule::OneFOneB) {
        notes.push_back(
            fmt::format("layout.schedule {} is not in {}: its schedules are 1f1b and interleaved-1f1b; 1f1b runs.",
                        name_of(layout.schedule), title));
    }
    // Without a layout every stage has to hold as many layers (arguments.py:997, transformer_block.py:157-178).
    const std::vector<std::int64_t> layers = layers_per_stage(as_it_runs(plan));
    if (std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) != layers.end()) {
        line.option("--pipeline-model-parallel-layout", stage_words(layers));
    } else if (is_interleaved(layout)) {
        line.option("--num-virtual-stages-per-pipeline-rank", layout.chunks);
    }
    if (!is_interleaved(layout)) return;
    const std::int64_t group = micro_batch_group(layout.accumulation, layout.pp);
    if (group == layout.pp) return;
    line.option("--microbatch-group-size-per-virtual-pipeline-stage", group);
    notes.push_back(fmt::format(
        "layout.accumulation {} is no multiple of layout.pp {}: Megatron-LM sends groups of {} micro-batches through each "
        "virtual stage, which keeps more of them alive.",
        layout.accumulation, layout.pp, group));
}

void parallelism(CommandLine& line, const Plan& plan, Notes& notes) {
    const Layout& layout = plan.layout;
    line.option("--tensor-model-parallel-size", layout.tp)
        .option("--pipeline-model-parallel-size", layout.pp)
        .option("--context-parallel-size", layout.cp);
    if (layout.sequence_parallel || routes_over_tp(plan)) line.flag("--sequence-parallel");
    if (!layout.sequence_parallel && routes_over_tp(plan)) {
        notes.push_back(
            "--sequence-parallel is written although layout.sequence_parallel is false: Megatron-LM trains experts under "
            "tensor parallelism only so.");
    }
    stages(line, plan, notes);
    if (layout.zero_stage == 1) {
        line.flag("--use-distributed-optimizer").flag("--overlap-grad-reduce").flag("--overlap-param-gather");
    } else if (layout.zero_stage > 1) {
        line.flag("--use-distributed-optimizer")
            .flag("--use-megatron-fsdp")
            .option("--data-parallel-sharding-strategy", layout.zero_stage == 2 ? "optim_grads" : "optim_grads_params")
            .option("--ckpt-format", "fsdp_dtensor");  // the only one that Megatron-FSDP takes
    }
}

void recomputation(CommandLine& line, const Layout& layout, Notes& notes) {
    switch (layout.recompute) {
        case Recompute::None:
            return;
        case Recompute::Full:
            line.option("--recompute-granularity", "full")
                .option("--recompute-method", "uniform")
                .option("--recompute-num-layers", std::int64_t{1});
            break;
        case Recompute::Selective:
            line.option("--recompute-granularity", "selective");
            break;
        case Recompute::Mlp:
            line.option("--recompute-granularity", "selective").words("--recompute-modules layernorm mlp");
            break;
    }
    if (layout.recompute_every > 1 || layout.recompute_stages > 0) {
        notes.push_back(
            fmt::format("layout.recompute_every and recompute_stages are not in {}: --recompute-method block with "
                        "--recompute-num-layers recomputes the first layers of each stage.",
                        title));
    }
}

/// What holds at the latest where the first batch is cut: the sequence, and micro-batches for every stage.
Result<void> require_batch(const Plan& plan) {
    const Layout& layout = plan.layout;
    const std::int64_t length = plan.data.sequence_length;
    if (layout.cp > 1 && length % (2 * layout.cp) != 0) {
        return bad_input(
            "Megatron-LM cuts a sequence in two pieces a context-parallel rank, and data.sequence_length {} is no multiple "
            "of {}: change it or layout.cp for this export",
            length, 2 * layout.cp);
    }
    if (routes_over_tp(plan) && length % (layout.cp * layout.tp) != 0) {
        return bad_input(
            "Megatron-LM trains experts under tensor parallelism with sequence parallelism only, and data.sequence_length "
            "{} is no multiple of layout.cp {} x layout.tp {}: change one of them for this export",
            length, layout.cp, layout.tp);
    }
    if (is_interleaved(layout) && layout.accumulation < layout.pp) {
        return bad_input(
            "Megatron-LM's interleaved schedule needs a micro-batch a stage, and layout.accumulation {} is fewer than "
            "layout.pp {}: take {} or more, or layout.schedule 1f1b, for this export",
            layout.accumulation, layout.pp, layout.pp);
    }
    return {};
}

}  // namespace

std::string stage_words(const std::vector<std::int64_t>& layers) {
    std::string words = "E";
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        if (stage > 0) words += "|";
        if (layers[stage] > 0) words += fmt::format("t*{}", layers[stage]);
    }
    return words + "L";
}

std::int64_t micro_batch_group(std::int64_t micro_batches, std::int64_t stages) {
    std::int64_t group = stages;
    while (micro_batches % group != 0 && micro_batches % group < stages) ++group;
    return group;
}

Result<void> require_accepted(const Plan& plan) {
    if (plan.model.encoder_decoder()) {
        return bad_input("pretrain_gpt.py of Megatron-LM has no encoder: model.family t5 cannot be exported to it");
    }
    if (plan.optimizer.kind == OptimizerKind::Sgd && plan.layout.zero_stage > 0) {
        return bad_input(
            "Megatron-LM's distributed optimizer shards Adam's states alone, and optimizer.kind is sgd: set "
            "layout.zero_stage to 0, it is {}, or take adamw for this export",
            plan.layout.zero_stage);
    }
    return require_batch(plan);
}

void layout(CommandLine& line, const Plan& plan, Notes& notes) {
    parallelism(line, plan, notes);
    recomputation(line, plan.layout, notes);
    line.option("--micro-batch-size", plan.layout.micro_batch)
        .option("--global-batch-size", plan.layout.global_batch())
        .option("--train-iters", plan.training.steps);
}

}  // namespace plimsoll::exports::megatron_lm
