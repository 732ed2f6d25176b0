// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/schedule/schedule.h"

namespace plimsoll::deepspeed {

namespace {

void add_tensor_parallel(Json& json, const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    const std::int64_t tp = plan.layout.tp;
    if (tp == 1) return;
    // AutoTP sets the process groups itself, which neither a PipelineModule nor an mpu for sequences allows.
    const bool by_itself =
        plan.layout.pp == 1 && plan.layout.cp == 1 && release.auto_tensor_parallel(exported_stage(plan));
    if (!by_itself) {
        notes.push_back(
            fmt::format("Tensor parallelism of {} has to come from the training code: a sharded model, and its process "
                        "groups given to "
                        "deepspeed.initialize as mpu. (DeepSpeed shards by itself from 0.16.4 on, with ZeRO-3 from "
                        "0.19.4 on, without "
                        "pipeline stages and context parallelism.)",
                        tp));
        return;
    }
    json["tensor_parallel"] = {{"autotp_size", tp}};
    // Without an mpu, DeepSpeed takes all ranks for data-parallel when it checks the product of the three batch
    // numbers.
    json.erase("train_batch_size");
    notes.push_back(
        fmt::format("train_batch_size is left out (it is {}): with autotp_size, DeepSpeed's check of it counts the "
                    "tensor-parallel ranks "
                    "as data-parallel ones.",
                    plan.layout.global_batch()));
}

void add_expert_parallel(Json& json, const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    const Layout& layout = plan.layout;
    if (layout.ep == 1) return;
    const bool by_itself = plan.model.family == Family::Mixtral && release.auto_expert_parallel() && layout.tp == 1 &&
                           layout.pp == 1 && layout.cp == 1;
    if (by_itself) {
        json["expert_parallel"] = {{"enabled", true}, {"autoep_size", layout.ep}, {"preset_model", "mixtral"}};
        return;
    }
    notes.push_back(
        fmt::format("Expert parallelism of {} has to come from the model's code: deepspeed.moe.layer.MoE(ep_size={}). "
                    "(The file can say "
                    "it for Mixtral from DeepSpeed 0.19.3 on, without tensor, pipeline and context parallelism.)",
                    layout.ep, layout.ep));
}

}  // namespace

void add_parallelism(Json& json, const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    const Layout& layout = plan.layout;
    add_tensor_parallel(json, plan, release, notes);
    add_expert_parallel(json, plan, release, notes);
    if (layout.pp > 1) {
        notes.push_back(fmt::format(
            "Pipeline stages are not in the file: build the model as deepspeed.pipe.PipelineModule(num_stages={}); its "
            "micro-batches are gradient_accumulation_steps.{}",
            layout.pp,
            !layout.schedule_file.empty() ? " DeepSpeed's schedule is 1F1B: it follows no list of operations."
            : layout.schedule == Schedule::OneFOneB
                ? ""
                : fmt::format(" DeepSpeed's schedule is 1F1B: it has no {}.", schedule_title(layout.schedule))));
    }
    if (layout.cp > 1) {
        notes.push_back(fmt::format(
            "Context parallelism of {} is not in the file: DeepSpeed splits sequences by Ulysses (deepspeed.runtime."
            "sequence_parallel), set up in the training code, which gives its mpu to deepspeed.initialize.",
            layout.cp));
    }
    if (layout.sequence_parallel) {
        notes.push_back(
            "layout.sequence_parallel (norms split along the sequence) is not in the file and DeepSpeed has no switch for it: "
            "it has to be in the model's code.");
    }
}

}  // namespace plimsoll::deepspeed
