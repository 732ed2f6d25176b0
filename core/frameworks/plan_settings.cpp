// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/plan_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/estimate/reduce_bucket.h"
#include "core/plan/adapter.h"

namespace plimsoll {
namespace {

bool half(const Plan& plan) { return plan.numerics.dtype != Dtype::Fp32; }
bool recomputes(const Plan& plan) { return plan.layout.recompute != Recompute::None; }
bool schedules(const Plan& plan, std::initializer_list<Schedule> schedules) {
    if (plan.layout.pp == 1 || !plan.layout.schedule_file.empty()) return false;
    return std::find(schedules.begin(), schedules.end(), plan.layout.schedule) != schedules.end();
}

void all_weights(Plan& plan) { plan.adapter = {}; }
void whole_activations(Plan& plan) { plan.layout.compress_activations = false; }
void activations_stay(Plan& plan) { plan.layout.offload_activations = false; }
void whole_loss(Plan& plan) { plan.layout.loss_chunks = 1; }
void whole_layers(Plan& plan) { plan.layout.recompute = Recompute::Full; }
void by_operation(Plan& plan) { plan.layout.recompute = Recompute::Selective; }
void every_layer(Plan& plan) { plan.layout.recompute_every = 1; }
void every_stage(Plan& plan) { plan.layout.recompute_stages = 0; }
void no_list(Plan& plan) { plan.layout.schedule_file.clear(); }
void one_f_one_b(Plan& plan) { plan.layout.schedule = Schedule::OneFOneB; }
void even_split(Plan& plan) { plan.layout.split = Split::Even; }
void adamw(Plan& plan) { plan.optimizer.kind = OptimizerKind::AdamW; }
void no_momentum(Plan& plan) { plan.optimizer.momentum = 0; }
void optimizer_stays(Plan& plan) { plan.layout.offload_optimizer = Offload::None; }
void parameters_stay(Plan& plan) { plan.layout.offload_parameters = Offload::None; }
void optimizer_to_host(Plan& plan) { plan.layout.offload_optimizer = Offload::Cpu; }
void all_to_host(Plan& plan) { plan.layout.offload_optimizer = plan.layout.offload_parameters = Offload::Cpu; }
void fp32_gradients(Plan& plan) { plan.numerics.fp32_gradients = true; }
void flash(Plan& plan) { plan.numerics.attention = Attention::Flash; }
void deepspeeds_stage(Plan& plan) { plan.layout.zero_stage = deepspeed_stage(plan); }
void masters(Plan& plan) { plan.numerics.weights = WeightCopies::Masters; }
void no_compensation(Plan& plan) { plan.numerics.rounding = Rounding::Nearest; }
void fp32_states(Plan& plan) { plan.optimizer.state_dtype = Dtype::Fp32; }
void states_as_weights(Plan& plan) { plan.optimizer.state_dtype = plan.numerics.weight_dtype(); }
bool pure(const Plan& plan) { return half(plan) && plan.numerics.weights == WeightCopies::Pure; }
bool moments_in_bf16(const Plan& plan) { return plan.optimizer.state_dtype == Dtype::Bf16; }
void no_z_loss(Plan& plan) { plan.model.z_loss = 0; }

constexpr Answer counted{};
constexpr auto own_buckets = "is Plimsoll's own; the buckets that are counted are this framework's";
constexpr auto even_routing = "tokens are counted as evenly routed: what the fullest rank gets beyond comes on top";

// Where DeepSpeed's answer has no `instead`, the model's code, which DeepSpeed leaves to its user, has to do it.
constexpr MemorySetting settings[] = {
    {"adapter.rank",
     [](const Plan& p) { return adapts(p); },
     counted,
     {"is not in Megatron-LM, which trains all weights, as is counted (Megatron-Bridge has LoRA)", all_weights},
     {"is not in torchtitan's config: all weights train, as is counted", all_weights},
     counted},
    {"layout.compress_activations",
     [](const Plan& p) { return p.layout.compress_activations; },
     {"is not in DeepSpeed: activations are counted in full", whole_activations},
     {"is not in Megatron-LM: activations are counted in full", whole_activations},
     {"is not in torchtitan: activations are counted in full", whole_activations},
     {"is not in the Trainer: activations are counted in full", whole_activations}},
    {"layout.offload_activations",
     [](const Plan& p) { return p.layout.offload_activations; },
     {"is counted, if the model's code does it (torch.autograd.graph.save_on_cpu): DeepSpeed does not"},
     {"is not counted: Megatron-LM's --fine-grained-activation-offloading takes modules that it is told",
      activations_stay},
     {"is not in torchtitan's config: activations are counted on the GPU", activations_stay},
     {"is not in the Trainer: activations are counted on the GPU", activations_stay}},
    {"layout.loss_chunks",
     [](const Plan& p) { return p.layout.loss_chunks > 1; },
     {"is counted, if the model's code does it (a fused linear cross-entropy, such as Liger Kernel's)"},
     {"is not in Megatron-LM: its loss takes all logits of a micro-batch at once, as is counted", whole_loss},
     {"is counted, if the model's loss is torchtitan's chunked one; its config does not say it"},
     {"is counted, if the Trainer is told use_liger_kernel"}},
    {"layout.recompute",
     [](const Plan& p) { return p.layout.recompute == Recompute::Selective; },
     counted,
     counted,
     counted,
     {"selective is not in the Trainer: gradient_checkpointing recomputes whole layers, as is counted", whole_layers}},
    {"layout.recompute",
     [](const Plan& p) { return p.layout.recompute == Recompute::Mlp; },
     {"mlp is counted, if the model's code does it"},
     counted,
     {"mlp is not in torchtitan: selective recomputation by operation is counted", by_operation},
     {"mlp is not in the Trainer: gradient_checkpointing recomputes whole layers, as is counted", whole_layers}},
    {"layout.recompute_every",
     [](const Plan& p) { return p.layout.recompute == Recompute::Full && p.layout.recompute_every > 1; },
     {"is counted, if the model's code checkpoints only these layers"},
     {"is not in Megatron-LM's arguments: every layer is counted as recomputed", every_layer},
     counted,
     {"is not in the Trainer: every layer is counted as recomputed", every_layer}},
    {"layout.recompute_stages",
     [](const Plan& p) { return recomputes(p) && p.layout.recompute_stages > 0; },
     {"is counted, if the model's code checkpoints on these stages only"},
     {"is not in Megatron-LM's arguments: every stage is counted as recomputed", every_stage},
     {"is not in torchtitan: every stage is counted as recomputed", every_stage},
     {"is not in the Trainer: every layer is counted as recomputed", every_stage}},
    {"layout.schedule",
     [](const Plan& p) { return schedules(p, {Schedule::Interleaved}); },
     {"interleaved-1f1b is not in DeepSpeed's pipeline engine: its 1F1B is counted", one_f_one_b},
     counted,
     counted,
     counted},
    {"layout.schedule",
     [](const Plan& p) {
         return schedules(p, {Schedule::GPipe, Schedule::ZbV, Schedule::DualPipeV});
     },
     {"is not in DeepSpeed's pipeline engine: its 1F1B is counted", one_f_one_b},
     {"is not in Megatron-LM: its 1F1B is counted", one_f_one_b},
     counted,
     counted},
    {"layout.schedule",
     [](const Plan& p) {
         return schedules(p, {Schedule::BreadthFirst, Schedule::ZbH1, Schedule::ZbH2, Schedule::Zb1p, Schedule::Zb2p,
                              Schedule::VHalf, Schedule::VMin});
     },
     {"is not in DeepSpeed's pipeline engine: its 1F1B is counted", one_f_one_b},
     {"is not in Megatron-LM: its 1F1B is counted", one_f_one_b},
     {"is not in torchtitan: 1F1B is counted", one_f_one_b},
     counted},
    {"layout.schedule_file",
     [](const Plan& p) { return p.layout.pp > 1 && !p.layout.schedule_file.empty(); },
     {"is not in DeepSpeed's pipeline engine: its 1F1B is counted", [](Plan& p) { no_list(p), one_f_one_b(p); }},
     {"is not in Megatron-LM: its 1F1B is counted", [](Plan& p) { no_list(p), one_f_one_b(p); }},
     {"is not in torchtitan's config: 1F1B is counted", [](Plan& p) { no_list(p), one_f_one_b(p); }},
     counted},
    {"layout.split",
     [](const Plan& p) { return p.layout.pp > 1 && p.layout.split == Split::Balanced; },
     counted,
     {"balanced takes --pipeline-model-parallel-layout: equal numbers of layers are counted", even_split},
     {"balanced takes stages by name: equal numbers of layers are counted", even_split},
     counted},
    {"optimizer.kind",
     [](const Plan& p) { return p.optimizer.kind == OptimizerKind::AdamW8bit; },
     {"adamw-8bit is counted, if the training script gives DeepSpeed bitsandbytes' optimizer"},
     {"adamw-8bit is not in Megatron-LM: adam with fp32 moments is counted", adamw},
     {"adamw-8bit is not in torchtitan: AdamW with fp32 moments is counted", adamw},
     counted},
    {"optimizer.kind",
     [](const Plan& p) { return p.optimizer.kind == OptimizerKind::Adafactor; },
     {"adafactor is counted, if the training script gives it to DeepSpeed; ZeRO's flat shards cannot be factored"},
     {"adafactor is not in Megatron-LM: adam is counted", adamw},
     {"adafactor is not in torchtitan: AdamW is counted", adamw},
     counted},
    {"optimizer.kind",
     [](const Plan& p) { return p.optimizer.kind == OptimizerKind::Lamb; },
     counted,
     {"lamb is not in Megatron-LM: adam is counted", adamw},
     {"lamb is not in torchtitan: AdamW is counted", adamw},
     {"lamb is not in transformers: AdamW is counted", adamw}},
    {"optimizer.kind",
     [](const Plan& p) { return p.optimizer.kind == OptimizerKind::Sgd; },
     counted,
     counted,
     {"sgd is not in torchtitan: AdamW is counted", adamw},
     counted},
    {"optimizer.momentum",
     [](const Plan& p) { return p.optimizer.kind == OptimizerKind::Sgd && p.optimizer.momentum > 0; },
     counted,
     counted,
     counted,
     {"is not in the Trainer's SGD: no momentum is counted", no_momentum}},
    {"layout.offload_parameters",
     [](const Plan& p) { return p.layout.offload_parameters != Offload::None; },
     counted,
     {"is not in Megatron-LM: parameters are counted on the GPU", parameters_stay},
     {"takes gradients and optimizer to host memory as well (enable_cpu_offload), as is counted", all_to_host},
     {"takes DeepSpeed or FSDP: parameters are counted on the GPU", parameters_stay}},
    {"layout.offload_optimizer",
     [](const Plan& p) { return p.layout.offload_optimizer == Offload::Nvme; },
     counted,
     {"nvme is not in Megatron-LM: the optimizer is counted in host memory", optimizer_to_host},
     counted,
     counted},
    {"layout.offload_optimizer",
     [](const Plan& p) {
         return p.layout.offload_optimizer != Offload::None && p.layout.offload_parameters == Offload::None;
     },
     counted,
     counted,
     {"alone is not in torchtitan, which offloads it with the parameters: it is counted on the GPU", optimizer_stays},
     counted},
    {"layout.offload_optimizer",
     [](const Plan& p) { return p.layout.offload_optimizer != Offload::None; },
     counted,
     counted,
     counted,
     {"takes DeepSpeed or FSDP: the optimizer is counted on the GPU", optimizer_stays}},
    {"layout.zero_stage",
     [](const Plan& p) { return p.layout.zero_stage == 0 && half(p); },
     {"0 does not train 16-bit weights in DeepSpeed: stage 1, which is exported in its place, is counted",
      deepspeeds_stage},
     counted,
     counted,
     counted},
    {"layout.zero_stage",
     [](const Plan& p) { return p.layout.zero_stage == 1; },
     counted,
     counted,
     {"1 is not in torchtitan: it shards gradients as well, as is counted"},
     counted},
    {"numerics.weights",
     [](const Plan& p) { return half(p) && p.numerics.weights == WeightCopies::Autocast; },
     counted,
     {"autocast is not in Megatron-LM: fp32 masters beside weights in the dtype are counted", masters},
     {"autocast and masters are one in torchtitan: fp32 shards, gathered in the dtype, are counted"},
     counted},
    {"numerics.weights",
     pure,
     counted,
     {"pure is not in Megatron-LM: fp32 masters beside weights in the dtype are counted", masters},
     counted,
     counted},
    {"numerics.rounding",
     [](const Plan& p) { return pure(p) && p.numerics.has_compensation(); },
     {"kahan is not in DeepSpeed: no compensation is counted", no_compensation},
     {"kahan is not in Megatron-LM: no compensation is counted", no_compensation},
     {"kahan is not in torchtitan: no compensation is counted", no_compensation},
     {"kahan is counted, if the training script gives the Trainer such an optimizer (optimi's)"}},
    {"optimizer.state_dtype",
     [](const Plan& p) { return moments_in_bf16(p) && !pure(p); },
     {"bf16 is not in DeepSpeed beside fp32 masters: fp32 moments are counted", fp32_states},
     counted,
     {"is not in torchtitan: moments have the dtype of the weights, as is counted", states_as_weights},
     {"is not in the Trainer: moments have the dtype of the weights, as is counted", states_as_weights}},
    {"optimizer.state_dtype",
     [](const Plan& p) { return moments_in_bf16(p) && p.layout.offload_optimizer != Offload::None; },
     counted,
     {"bf16 acts in host memory, where the moments are"},
     counted,
     counted},
    {"optimizer.state_dtype",
     [](const Plan& p) {
         return moments_in_bf16(p) && (p.layout.zero_stage == 0 || p.optimizer.kind != OptimizerKind::AdamW);
     },
     counted,
     {"bf16 takes Megatron-LM's distributed optimizer and adam: fp32 moments are counted", fp32_states},
     counted,
     counted},
    {"optimizer.state_dtype",
     [](const Plan& p) { return pure(p) && p.optimizer.state_dtype == Dtype::Fp32; },
     {"fp32 is not in DeepSpeed beside bf16 weights alone: moments in bf16 are counted", states_as_weights},
     counted,
     {"is not in torchtitan: moments have the dtype of the weights, as is counted", states_as_weights},
     {"is not in the Trainer: moments have the dtype of the weights, as is counted", states_as_weights}},
    {"numerics.fp32_gradients",
     [](const Plan& p) { return half(p) && !p.numerics.fp32_gradients; },
     counted,
     counted,
     {"false is not in torchtitan: gradients are kept and reduced in fp32, as is counted", fp32_gradients},
     {"false is not in the Trainer: gradients are fp32 like the weights, as is counted", fp32_gradients}},
    {"numerics.fp32_gradients",
     [](const Plan& p) {
         return half(p) && p.numerics.fp32_gradients && p.layout.zero_stage == 2 &&
                p.layout.offload_optimizer != Offload::None;
     },
     {"adds up in host memory: on the device DeepSpeed's gradients stay in 16 bits, as is counted"},
     counted,
     counted,
     counted},
    {"numerics.attention",
     [](const Plan& p) { return p.numerics.attention == Attention::Eager; },
     counted,
     counted,
     {"eager is not in torchtitan: its flash attention is counted", flash},
     counted},
    {"training.bucket_mib",
     [](const Plan& p) { return p.training.bucket_mib != Training{}.bucket_mib; },
     {own_buckets},
     {own_buckets},
     {own_buckets},
     {own_buckets}},
    {"model.z_loss",
     [](const Plan& p) { return p.model.z_loss > 0; },
     {"is counted, if the model's code adds it to the loss"},
     {"is not in Megatron-LM and not counted", no_z_loss},
     {"is not in torchtitan and not counted", no_z_loss},
     {"is not in the Trainer and not counted", no_z_loss}},
    {"layout.ep",
     [](const Plan& p) { return p.model.moe() && p.layout.ep > 1 && p.model.capacity_factor == 0; },
     counted,
     {even_routing},
     {even_routing},
     {even_routing}},
    {"model.capacity_factor",
     [](const Plan& p) { return p.model.moe() && p.model.capacity_factor > 0; },
     counted,
     {even_routing},
     {even_routing},
     {even_routing}},
};

}  // namespace

const Answer& MemorySetting::under(Framework framework) const {
    switch (framework) {
        case Framework::DeepSpeed:
            return deepspeed;
        case Framework::Megatron:
            return megatron;
        case Framework::TorchTitan:
            return torchtitan;
        case Framework::HfTrainer:
            return trainer;
        case Framework::Plimsoll:
            break;
    }
    return counted;
}

std::span<const MemorySetting> memory_settings() { return settings; }

TrainedPlan as_trained_by(Framework framework, const Plan& plan) {
    TrainedPlan trained{plan, {}};
    for (const auto& setting : memory_settings()) {
        const auto& answer = setting.under(framework);
        if (answer.note.empty() || !setting.asked(trained.plan)) continue;
        trained.notes.push_back(fmt::format("{} {}.", setting.key, answer.note));
        if (answer.instead != nullptr) answer.instead(trained.plan);
    }
    return trained;
}

}  // namespace plimsoll
