// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_export.h"

#include "core/interop/deepspeed/deepspeed_import.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

namespace {

using deepspeed::Notes;

/// number_checkpoints is the number of layers: needed as soon as somebody turns contiguous_memory_optimization on.
void add_recompute(Json& json, const Plan& plan, Notes& notes) {
    if (plan.layout.recompute == Recompute::None) return;
    json["activation_checkpointing"] = {
        {"partition_activations", false},           {"cpu_checkpointing", false},
        {"contiguous_memory_optimization", false},  {"number_checkpoints", plan.model.num_layers},
        {"synchronize_checkpoint_boundary", false}, {"profile", false}};
    notes.push_back(
        "activation_checkpointing turns nothing on: it acts in model code that calls deepspeed.checkpointing. With Hugging "
        "Face models, set gradient_checkpointing to true in the training arguments.");
    if (plan.layout.recompute == Recompute::Selective) {
        notes.push_back(
            "Selective recomputation is not in the file: the model's code has to checkpoint the attention core only, not whole layers.");
    }
    if (plan.layout.recompute == Recompute::Mlp) {
        notes.push_back(
            "Recomputation of the MLP is not in the file: the model's code has to checkpoint the norms and the MLP only, "
            "not whole layers.");
    }
}

void add_training_note(const Plan& plan, Notes& notes) {
    notes.push_back(
        fmt::format("The training script sets what the file has no keys for: the data, the sequence length ({}), the "
                    "number of steps "
                    "({}), the seed ({}) and when to write checkpoints.",
                    plan.data.sequence_length, plan.training.steps, plan.training.seed));
}

}  // namespace

Result<DeepSpeedExport> export_deepspeed(const Plan& plan) {
    PLIMSOLL_TRY(const DeepSpeedRelease release, deepspeed_release(plan.exports.deepspeed_release));
    PLIMSOLL_CHECK(require_possible(plan));

    DeepSpeedExport result;
    Json& json = result.json;
    Notes& notes = result.notes;
    json["train_batch_size"] = plan.layout.global_batch();
    json["train_micro_batch_size_per_gpu"] = plan.layout.micro_batch;
    json["gradient_accumulation_steps"] = plan.layout.accumulation;
    deepspeed::add_optimizer(json, plan, notes);
    json["scheduler"] = deepspeed::scheduler(plan, release, notes);
    // Written even when clipping is off: a missing key means 0 before 0.19.3 and 1 since.
    json["gradient_clipping"] = plan.optimizer.clip;
    deepspeed::add_precision(json, plan, release, notes);
    json["zero_optimization"] = deepspeed::zero_optimization(plan, notes);
    add_recompute(json, plan, notes);
    deepspeed::add_parallelism(json, plan, release, notes);
    deepspeed::note_unsaid(plan, notes);
    add_training_note(plan, notes);
    deepspeed::add_kept(json, plan);
    deepspeed::note_refused(json, plan, notes);
    return result;
}

}  // namespace plimsoll
