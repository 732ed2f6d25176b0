// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/control/batch_rules.h"
#include "core/interop/deepspeed/deepspeed_parts.h"

namespace plimsoll::deepspeed {

namespace {

Json adam_params(const Optimizer& optimizer) {
    return {{"lr", optimizer.lr},
            {"betas", Json::array({optimizer.beta1, optimizer.beta2})},
            {"eps", optimizer.eps},
            {"weight_decay", optimizer.weight_decay}};
}

/// FusedLamb needs a dynamic fp16 loss scale: engine._do_sanity_check.
bool takes_lamb(const Numerics& numerics) { return numerics.dtype == Dtype::Fp16 && numerics.loss_scale == 0; }

/// Allows ZeRO stages that DeepSpeed has not tried with this optimizer, and an offload that DeepSpeed reserves for its
/// own Adam.
void allow(Json& json, const Plan& plan, bool in_file) {
    if (exported_stage(plan) > 0) json["zero_allow_untested_optimizer"] = true;
    if (!in_file && plan.layout.offload_optimizer != Offload::None) json["zero_force_ds_cpu_optimizer"] = false;
}

void leave_out(Json& json, const Plan& plan, std::string_view why, std::string_view instead, Notes& notes) {
    allow(json, plan, false);
    notes.push_back(fmt::format(
        "The file has no optimizer: {}. Make it in the training script ({}) with the learning rate {:g} and give it to "
        "deepspeed.initialize as optimizer{}.",
        why, instead, plan.optimizer.lr,
        exported_stage(plan) > 0 ? "; zero_allow_untested_optimizer lets ZeRO take it" : ""));
}

void lamb(Json& json, const Plan& plan, Notes& notes) {
    if (!takes_lamb(plan.numerics)) {
        leave_out(json, plan, "DeepSpeed's LAMB runs in fp16 with a dynamic loss scale only", "any LAMB for PyTorch",
                  notes);
        return;
    }
    json["optimizer"] = {{"type", "Lamb"}, {"params", adam_params(plan.optimizer)}};
    allow(json, plan, true);
    notes.push_back(
        "DeepSpeed's LAMB holds the trust ratio between min_coeff 0.01 and max_coeff 10 and uses it on every parameter "
        "that it is given.");
    if (exported_stage(plan) > 0) {
        notes.push_back(
            "Under ZeRO, DeepSpeed's LAMB takes its trust ratio over a rank's flat shard, not over each matrix.");
    }
}

void sgd(Json& json, const Plan& plan) {
    const Optimizer& optimizer = plan.optimizer;
    json["optimizer"] = {
        {"type", "SGD"},
        {"params", {{"lr", optimizer.lr}, {"momentum", optimizer.momentum}, {"weight_decay", optimizer.weight_decay}}}};
    allow(json, plan, true);
}

}  // namespace

void add_optimizer(Json& json, const Plan& asked, Notes& notes) {
    Plan plan = asked;
    plan.optimizer.lr = peak_learning_rate(asked);
    if (plan.optimizer.weight_decay > 0) {
        notes.push_back(
            "weight_decay acts on every parameter that DeepSpeed is given: to leave biases and norms out, as the plan "
            "does, pass parameter groups (model_parameters) to deepspeed.initialize.");
    }
    switch (plan.optimizer.kind) {
        case OptimizerKind::AdamW:
            json["optimizer"] = {{"type", "AdamW"}, {"params", adam_params(plan.optimizer)}};
            return;
        case OptimizerKind::Lamb:
            lamb(json, plan, notes);
            return;
        case OptimizerKind::Sgd:
            sgd(json, plan);
            return;
        case OptimizerKind::AdamW8bit:
            leave_out(json, plan, "DeepSpeed has no 8-bit AdamW",
                      "bitsandbytes.optim.AdamW8bit; with the Hugging Face Trainer optim=\"adamw_8bit\"", notes);
            return;
        case OptimizerKind::Adafactor:
            leave_out(json, plan, "DeepSpeed has no Adafactor", "torch.optim.Adafactor", notes);
            if (exported_stage(plan) > 0) {
                notes.push_back(
                    "ZeRO gives an optimizer flat shards, which Adafactor cannot factor: its state is then as large as "
                    "one Adam moment.");
            }
            return;
    }
}

}  // namespace plimsoll::deepspeed
