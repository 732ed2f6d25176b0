// SPDX-License-Identifier: Apache-2.0
#include "core/planner/framework_rules.h"

#include "core/plan/schedule_kind.h"

namespace plimsoll {

namespace {

const char* deepspeed(Dtype dtype, const Layout& l) {
    if (l.zero_stage == 0 && dtype != Dtype::Fp32) return "trains 16-bit weights from ZeRO-1 on";
    if (l.pp > 1 && l.schedule != Schedule::OneFOneB) return "runs its pipelines by 1F1B alone";
    if (l.sequence_parallel) return "has no switch that splits norms along the sequence (layout.sequence_parallel)";
    return nullptr;
}

const char* megatron(const Model& model, const Layout& l) {
    if (l.pp > 1 && l.schedule != Schedule::OneFOneB && l.schedule != Schedule::Interleaved)
        return "has no such schedule: it has 1f1b and interleaved-1f1b";
    const auto chunks = l.pp > 1 ? chunks_of(l.schedule, l.chunks) : 1;
    if (l.pp > 1 && model.num_layers % (l.pp * chunks) != 0) return "takes as many layers on each pipeline stage only";
    if (l.pp > 1 && chunks > 1 && l.accumulation % l.pp != 0)
        return "interleaves a multiple of the pipeline's stages in micro-batches only";
    if (l.ep > 1 && l.tp > 1 && !l.sequence_parallel)
        return "asks for sequence parallelism where experts and tensors are split";
    if (l.offload_optimizer == Offload::Nvme) return "offloads the optimizer to host memory only, not to a drive";
    return nullptr;
}

const char* torchtitan(const Model& model, const Layout& l) {
    switch (l.schedule) {
        case Schedule::GPipe:
        case Schedule::OneFOneB:
        case Schedule::Interleaved:
        case Schedule::ZbV:
        case Schedule::DualPipeV:
            break;
        default:
            if (l.pp > 1) return "has no such schedule: it has gpipe, 1f1b, interleaved-1f1b, zb-v and dualpipe-v";
    }
    if (l.pp == 1 && l.zero_stage != 3) return "shards parameters as well (FSDP2): ZeRO-3";
    if (l.pp > 1 && l.zero_stage == 0) return "shards optimizer states and gradients (FSDP2): ZeRO-1 with a pipeline";
    if (l.tp > 1 && !l.sequence_parallel) return "splits norms along the sequence with every tensor parallelism";
    if (model.num_kv_heads % l.tp != 0) return "deals key and value heads evenly over tensor-parallel ranks only";
    if (l.recompute == Recompute::Mlp) return "has no recomputation of the MLP alone";
    if (l.offload_optimizer != Offload::None) return "offloads the optimizer together with the parameters only";
    return nullptr;
}

const char* hf_trainer(const Layout& l) {
    if (l.tp > 1 || l.pp > 1 || l.cp > 1 || l.ep > 1)
        return "has data parallelism alone: tensor, pipeline, context and expert parallelism come from DeepSpeed";
    if (l.zero_stage > 0) return "shards nothing by itself: ZeRO comes from DeepSpeed";
    if (l.recompute == Recompute::Mlp || l.recompute == Recompute::Selective) return "recomputes every layer or none";
    return nullptr;
}

}  // namespace

const char* refusal_of(Framework framework, const Plan& plan, const Layout& layout) {
    switch (framework) {
        case Framework::Plimsoll:
            return nullptr;
        case Framework::DeepSpeed:
            return deepspeed(plan.numerics.dtype, layout);
        case Framework::Megatron:
            return megatron(plan.model, layout);
        case Framework::TorchTitan:
            return torchtitan(plan.model, layout);
        case Framework::HfTrainer:
            return hf_trainer(layout);
    }
    return nullptr;
}

}  // namespace plimsoll
