// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/estimate_under.h"

#include "core/estimate/overhead.h"
#include "core/estimate/terms.h"
#include "core/frameworks/framework_terms.h"
#include "core/frameworks/plan_settings.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/machine.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"

namespace plimsoll {
namespace {

std::vector<Term> allocated(Framework framework, const Workload& work, const StageShare& stage) {
    switch (framework) {
        case Framework::Megatron:
            return framework_terms::megatron(work, stage);
        case Framework::TorchTitan:
            return framework_terms::torchtitan(work, stage);
        case Framework::HfTrainer:
            return framework_terms::hf_trainer(work, stage);
        case Framework::Plimsoll:
        case Framework::DeepSpeed:
            break;
    }
    return {};
}

int reserved_percent(const Profile& profile, const Workload& work) {
    if (work.first_fsdp) return 127;  // torchtitan pull request 165: FSDP1's 63.9 GiB reserved for 50.35 active
    if (work.expandable_segments) return profile.reserved_percent_expandable;
    return work.compiled ? profile.reserved_percent_compiled : profile.reserved_percent;
}

Result<void> possible_under(Framework framework, const Plan& plan) {
    const auto& layout = plan.layout;
    if (framework == Framework::HfTrainer &&
        (layout.tp > 1 || layout.pp > 1 || layout.cp > 1 || layout.ep > 1 || layout.zero_stage > 0))
        return bad_input(
            "the Trainer's own data parallelism has no tensor, pipeline, context or expert parallelism and no sharding: "
            "set layout.tp, layout.pp, layout.cp and layout.ep to 1 and layout.zero_stage to 0, or look at it under "
            "deepspeed");
    if (framework == Framework::TorchTitan && plan.model.encoder_decoder())
        return bad_input("torchtitan has no encoder-decoder models: choose a decoder, or look at it under megatron");
    if (framework == Framework::TorchTitan && plan.numerics.dtype == Dtype::Fp16)
        return bad_input("torchtitan has no fp16: set numerics.dtype to bf16 or fp32, or look at it under deepspeed");
    return {};
}

}  // namespace

RankMemory rank_memory_under(Framework framework, const Workload& work, const StageShare& stage) {
    RankMemory rank;
    rank.stage = static_cast<int>(stage.rank);
    rank.label = work.layout.pp == 1 ? "Every rank" : fmt::format("Stage {}", stage.rank);
    rank.ranks = work.layout.dp * work.layout.tp * work.layout.cp;
    rank.layers = stage.layers + stage.encoder_layers;
    rank.parameters = stage_shape(work, stage).total().value();
    rank.chunks = work.chunks();
    rank.alive = static_cast<std::int64_t>(stage.alive * static_cast<double>(rank.chunks) + 0.5);
    rank.in_flight = static_cast<std::int64_t>(stage.alive + 0.999);
    rank.terms = allocated(framework, work, stage);
    const auto& profile = profile_of(framework);
    const auto percent = reserved_percent(profile, work);
    const Count total = rank.total();
    rank.terms.push_back({"fragmentation", "Allocator fragmentation", Category::Overhead,
                          share(total * (percent - 100), 100).value(),
                          fmt::format("{} % of what is allocated = {} × {} / 100", percent - 100,
                                      format_count(total.value()), percent - 100),
                          "reserved ÷ allocated memory of published runs (core/frameworks/framework.cpp)"});
    rank.terms.push_back(cuda_context_term());
    if (auto nccl = nccl_term(work.layout)) rank.terms.push_back(*std::move(nccl));

    const auto kept = framework_terms::kept_activations(work, stage);
    rank.activations_per_layer = kept.layer.value();
    for (const auto mode : {Recompute::None, Recompute::Selective, Recompute::Full, Recompute::Mlp}) {
        auto other = work;
        other.layout.recompute = mode;
        rank.activations_by_recompute[static_cast<std::size_t>(mode)] =
            framework_terms::kept_activations(other, stage).bytes.value();
    }
    return rank;
}

Bytes peak_by(PeakMetric metric, const RankMemory& rank) {
    switch (metric) {
        case PeakMetric::Allocated:
            return rank.live();
        case PeakMetric::Reserved:
            return rank.reserved();
        case PeakMetric::Process:
            break;
    }
    return rank.total();
}

namespace {

std::vector<Term> host_terms(Framework framework, const Workload& work, const StageShare& stage) {
    if (framework == Framework::Megatron) return framework_terms::megatron_host(work, stage);
    if (framework == Framework::TorchTitan) return framework_terms::torchtitan_host(work, stage);
    return {};
}

/// The step's peak with torch.optim's loops, where the step that is counted allocates less.
void note_other_loops(Framework framework, const Plan& plan, std::optional<StepLoop> loop, MemoryEstimate& estimate) {
    if (loop || plan.optimizer.kind != OptimizerKind::AdamW || framework == Framework::Plimsoll) return;
    if (framework != Framework::DeepSpeed && framework != Framework::HfTrainer) return;
    const Bytes here = estimate.fullest().total();
    const auto with = [&](StepLoop other) {
        const auto under = estimate_under(framework, plan, other);
        return under ? under->fullest().total() : here;
    };
    if (framework == Framework::HfTrainer) {
        if (const auto fused = with(StepLoop::Fused); fused < here)
            estimate.notes.push_back(fmt::format(
                "optimizer.kind adamw is counted as optim=adamw_torch, whose step takes 4 B a trained parameter: "
                "adamw_torch_fused needs {} on the fullest rank.",
                format_bytes(fused)));
        return;
    }
    if (const auto single = with(StepLoop::Single); single > here)
        estimate.notes.push_back(fmt::format(
            "optimizer.kind adamw is counted as DeepSpeed's FusedAdam, which works in place: with torch.optim's AdamW "
            "(torch_adam, or an optimizer of the training script) the step needs {} (foreach) or {} (a tensor at a time) "
            "on the fullest rank.",
            format_bytes(with(StepLoop::Foreach)), format_bytes(single)));
}

Result<MemoryEstimate> estimate_by(Framework framework, const Plan& plan, std::optional<StepLoop> loop) {
    if (framework == Framework::Plimsoll) return estimate_memory(plan);
    PLIMSOLL_CHECK(require_possible(plan));
    PLIMSOLL_CHECK(possible_under(framework, plan));
    auto trained = as_trained_by(framework, plan);
    MemoryEstimate estimate;
    if (framework == Framework::DeepSpeed) {
        PLIMSOLL_TRY(estimate, estimate_with(trained.plan, EngineBuffers::DeepSpeed, loop));
    } else {
        PLIMSOLL_TRY(estimate.usable, usable_bytes(plan.cluster));
        estimate.parameters = count_parameters(plan.model).total;
        auto work = workload_of(trained.plan, framework);
        if (loop) work.step = *loop;
        for (const auto& stage : stage_shares(work)) {
            estimate.stages.push_back(rank_memory_under(framework, work, stage));
            auto host = host_terms(framework, work, stage);
            Count bytes;
            for (const auto& term : host) bytes += term.bytes;
            if (bytes <= Count(estimate.host)) continue;
            estimate.host = bytes.value();
            estimate.host_terms = std::move(host);
        }
    }
    estimate.notes = std::move(trained.notes);
    note_other_loops(framework, plan, loop, estimate);
    return estimate;
}

}  // namespace

Result<MemoryEstimate> estimate_under(Framework framework, const Plan& plan) {
    return estimate_by(framework, plan, std::nullopt);
}

Result<MemoryEstimate> estimate_under(Framework framework, const Plan& plan, StepLoop loop) {
    return estimate_by(framework, plan, loop);
}

}  // namespace plimsoll
