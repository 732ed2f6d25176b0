// SPDX-License-Identifier: Apache-2.0
// The layout in torchtitan's config.
#include <algorithm>
#include <functional>

#include "core/interop/exports/torchtitan_parts.h"
#include "core/schedule/stage_times.h"

namespace plimsoll::exports::torchtitan {

namespace {

/// Layers on each stage of the schedule that runs.
std::vector<std::int64_t> layers_of_stages(Plan plan) {
    const PipelineSchedule runs = pipeline_schedule(plan.layout);
    if (runs.name == "1F1B") plan.layout.schedule = Schedule::OneFOneB;
    return layers_per_stage(plan);
}

/// torchtitan deals layers as evenly as the plan, the first stages one more, where neither end counts as a layer
/// (distributed/pipeline_parallel.py, generate_llm_fqn_per_model_part).
bool deals_alike(const std::vector<std::int64_t>& layers) {
    return std::is_sorted(layers.rbegin(), layers.rend()) && layers.front() - layers.back() <= 1;
}

/// The names of each stage's modules.
Json modules_of_stages(const std::vector<std::int64_t>& layers) {
    Json stages = Json::array();
    std::int64_t layer = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        Json modules = Json::array();
        if (stage == 0) modules.push_back("tok_embeddings");
        for (std::int64_t i = 0; i < layers[stage]; ++i) modules.push_back(fmt::format("layers.{}", layer++));
        if (stage + 1 == layers.size()) modules.insert(modules.end(), {"norm", "output"});
        stages.push_back(std::move(modules));
    }
    return stages;
}

/// pipeline_parallel_layers_per_stage that makes so many stages of the layers; 0: none does.
std::int64_t layers_for_stages(std::int64_t layers, std::int64_t stages) {
    const std::int64_t each = (layers + stages - 1) / stages;
    return (layers + each - 1) / each == stages ? each : 0;
}

/// Stages without a number: one, or two under the schedules that hold several.
bool needs_number(const PipelineSchedule& runs) { return runs.stages_per_rank > 2; }

void pipeline(Json& json, const Plan& plan, Release release, Notes& notes) {
    const Layout& layout = plan.layout;
    const PipelineSchedule runs = pipeline_schedule(layout);
    json["pipeline_parallel_schedule"] = runs.name;
    json["pipeline_parallel_microbatch_size"] = layout.micro_batch;
    if (runs.name == "1F1B" && layout.schedule != Schedule::OneFOneB && layout.schedule != Schedule::Interleaved) {
        notes.push_back(
            fmt::format("layout.schedule {} is not in {}: 1F1B stands in its place.", name_of(layout.schedule), title));
    }
    const std::vector<std::int64_t> layers = layers_of_stages(plan);
    const std::int64_t each = layers_for_stages(plan.model.num_layers, layout.pp * runs.stages_per_rank);
    const bool named = !deals_alike(layers) || (needs_number(runs) && each == 0);
    if (named && release == Release::Toml) {
        json["module_fqns_per_model_part"] = modules_of_stages(layers);
        return;
    }
    if (named) {
        notes.push_back(
            fmt::format("layout.split balanced is not on the command line of torchtitan 0.3: {} layers are dealt "
                        "evenly; parallelism.module_fqns_per_model_part of the function that --config names "
                        "can name each stage.",
                        plan.model.num_layers));
    }
    json["pipeline_parallel_first_stage_less_layers"] = 0;
    json["pipeline_parallel_last_stage_less_layers"] = 0;
    if (needs_number(runs)) json["pipeline_parallel_layers_per_stage"] = each;
}

Result<void> require_pipeline(const Plan& plan, Release release) {
    const Layout& layout = plan.layout;
    if (layout.pp == 1) return {};
    const PipelineSchedule runs = pipeline_schedule(layout);
    const std::int64_t batches = layout.accumulation;
    // torch/distributed/pipelining/schedules.py: PipelineScheduleSingle, ScheduleInterleaved1F1B.
    if (runs.stages_per_rank == 1 && batches < layout.pp) {
        return bad_input(
            "torchtitan's {} needs a micro-batch a stage, and layout.accumulation {} is fewer than layout.pp {}: take {} or "
            "more for this export",
            runs.name, batches, layout.pp, layout.pp);
    }
    const std::int64_t rounds = std::max<std::int64_t>(1, batches / layout.pp);
    if (runs.name == "Interleaved1F1B" && batches % rounds != 0) {
        return bad_input(
            "torchtitan's Interleaved1F1B sends micro-batches in {} equal rounds, and {} does not divide "
            "layout.accumulation {}: take a multiple of layout.pp, {} or {}, for this export",
            rounds, rounds, batches, batches / layout.pp * layout.pp, (batches / layout.pp + 1) * layout.pp);
    }
    const std::int64_t stages = layout.pp * runs.stages_per_rank;
    if (release == Release::Command && needs_number(runs) && layers_for_stages(plan.model.num_layers, stages) == 0) {
        return bad_input(
            "torchtitan 0.3 cannot deal model.num_layers {} over {} stages (layout.pp {} x layout.chunks {}) from its "
            "command line: take layout.chunks 2 for this export, or export to torchtitan (0.2), which names each stage",
            plan.model.num_layers, stages, layout.pp, layout.chunks);
    }
    return {};
}

/// 0.2: parallelize_llama asserts it of seq_len_divisor, whether or not there is context parallelism. 0.3: Trainer.
Result<void> require_sequence(const Plan& plan, Release release) {
    const Layout& layout = plan.layout;
    const std::int64_t halves = layout.cp > 1 || release == Release::Toml ? 2 * layout.cp : 1;
    const std::int64_t parts = (layout.sequence_parallel || release == Release::Toml ? layout.tp : 1) * halves;
    const std::int64_t length = plan.data.sequence_length;
    if (length % parts == 0) return {};
    return bad_input(
        "torchtitan cuts a sequence into {} parts (layout.tp {} and two a context-parallel rank), and "
        "data.sequence_length {} is no multiple: take {} for this export",
        parts, layout.tp, length, (length + parts - 1) / parts * parts);
}

}  // namespace

PipelineSchedule pipeline_schedule(const Layout& layout) {
    switch (layout.schedule) {
        case Schedule::GPipe:
            return {"GPipe", 1};
        case Schedule::Interleaved:
            return layout.chunks > 1 ? PipelineSchedule{"Interleaved1F1B", layout.chunks} : PipelineSchedule{"1F1B", 1};
        case Schedule::ZbV:
            return {"ZBVZeroBubble", 2};
        case Schedule::DualPipeV:
            return {"DualPipeV", 2};
        default:
            return {"1F1B", 1};
    }
}

Result<void> require_layout(const Plan& plan, Release release) {
    const std::int64_t tp = plan.layout.tp;
    if (plan.model.num_kv_heads % tp != 0) {
        return bad_input(
            "torchtitan gives each tensor-parallel rank whole key and value heads, and layout.tp {} does not divide "
            "model.num_kv_heads {}: take a layout.tp that does for this export",
            tp, plan.model.num_kv_heads);
    }
    PLIMSOLL_CHECK(require_sequence(plan, release));
    return require_pipeline(plan, release);
}

Json parallelism(const Plan& plan, Release release, Notes& notes) {
    const Layout& layout = plan.layout;
    // DDP of 0.2 goes with no other parallelism than context parallelism, which is FSDP's (parallelize_llama).
    const bool takes_fsdp = release == Release::Toml && layout.zero_stage == 0 && layout.dp > 1 && layout.cp == 1 &&
                            (layout.tp > 1 || layout.pp > 1);
    const bool sharded = layout.zero_stage > 0 || takes_fsdp;
    Json json{{"data_parallel_replicate_degree", sharded ? 1 : layout.dp},
              {"data_parallel_shard_degree", sharded ? layout.dp : 1},
              {"fsdp_reshard_after_forward", layout.zero_stage == 3 ? "always" : "never"},
              {"tensor_parallel_degree", layout.tp},
              {"pipeline_parallel_degree", layout.pp},
              {"context_parallel_degree", layout.cp},
              {"expert_parallel_degree", layout.ep}};
    if (layout.pp > 1) pipeline(json, plan, release, notes);
    if (layout.zero_stage == 1) {
        notes.push_back("torchtitan has no ZeRO-1: with fsdp_reshard_after_forward never it is ZeRO-2.");
    }
    if (takes_fsdp) {
        notes.push_back(
            "torchtitan 0.2 has plain data parallelism (layout.zero_stage 0) only without tensor and pipeline parallelism: "
            "FSDP that keeps the gathered parameters, ZeRO-2, stands in its place.");
    }
    return json;
}

}  // namespace plimsoll::exports::torchtitan
