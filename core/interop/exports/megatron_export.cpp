// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's pretrain_gpt.py (main, 2026-08): unknown and shortened options are errors there.
#include <algorithm>
#include <cmath>

#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

constexpr std::string_view megatron_name = "Megatron-LM's arguments";

void model(CommandLine& line, const Plan& plan) {
    const Model& m = plan.model;
    line.option("--num-layers", m.num_layers)
        .option("--hidden-size", m.hidden_size)
        .option("--ffn-hidden-size", m.ffn_hidden_size)
        .option("--num-attention-heads", m.num_heads)
        .option("--kv-channels", m.head_size())
        .option("--seq-length", plan.data.sequence_length)
        .option("--max-position-embeddings", std::max(m.max_position, plan.data.sequence_length))
        .option("--normalization", m.norm == Norm::RmsNorm ? "RMSNorm" : "LayerNorm")
        .number("--norm-epsilon", m.norm_eps)
        .number("--init-method-std", m.init_std)
        .number("--hidden-dropout", m.dropout)
        .number("--attention-dropout", m.dropout);
    if (m.num_kv_heads < m.num_heads) {
        line.flag("--group-query-attention").option("--num-query-groups", m.num_kv_heads);
    }
    if (m.position == Position::Rotary) {
        line.option("--position-embedding-type", "rope")
            .option("--rotary-base", static_cast<std::int64_t>(std::llround(m.rope_theta)));
    } else {
        line.option("--position-embedding-type", "learned_absolute");
    }
    if (m.activation == Activation::SwiGlu) line.flag("--swiglu");
    if (!m.linear_bias) line.flag("--disable-bias-linear");
    if (m.qkv_bias && !m.linear_bias) line.flag("--add-qkv-bias");
    if (!m.tied_head) line.flag("--untie-embeddings-and-output-weights");
    if (m.qk_norm) line.flag("--qk-layernorm");
}

void stability(CommandLine& line, const Plan& plan, Notes& notes) {
    const Model& m = plan.model;
    if (m.qk_norm && m.norm != Norm::RmsNorm) {
        notes.push_back(
            "--qk-layernorm norms queries and keys with the model's LayerNorm: model.qk_norm is an RMSNorm.");
    }
    if (m.mup_base_width > 0) {
        // The attention's scale stays 1/sqrt(head), since widths grow by heads.
        line.flag("--use-mup").option("--mup-base-hidden-size", m.mup_base_width).number("--mup-attn-scale-power", 0.5);
        notes.push_back(
            "Megatron-LM's muP scales the logits where model.mup_base_width scales the head's weights and their rate.");
    }
    note_stability(plan, megatron_name, {.qk_norm = true, .mup = true}, notes);
    note_kept_keys(plan, megatron_name, notes);
    note_adapters(plan, megatron_name, false, notes);
}

void experts(CommandLine& line, const Plan& plan) {
    const Model& m = plan.model;
    if (!m.moe()) return;
    line.option("--num-experts", m.num_experts)
        .option("--moe-router-topk", m.experts_per_token)
        .option("--moe-router-load-balancing-type", "seq_aux_loss")
        .number("--moe-aux-loss-coeff", m.router_aux_loss)
        .option("--moe-token-dispatcher-type", "alltoall")
        .option("--expert-model-parallel-size", plan.layout.ep);
    if (m.router_z_loss > 0) line.number("--moe-z-loss-coeff", m.router_z_loss);
    if (m.capacity_factor > 0) line.number("--moe-expert-capacity-factor", m.capacity_factor);
}

void schedule_of_stages(CommandLine& line, const Layout& layout, Notes& notes) {
    if (layout.pp == 1) return;
    if (layout.schedule == Schedule::Interleaved) {
        line.option("--num-virtual-stages-per-pipeline-rank", layout.chunks);
    } else if (layout.schedule != Schedule::OneFOneB) {
        notes.push_back(
            fmt::format("layout.schedule {} is not in {}: its schedules are 1f1b and interleaved-1f1b; 1f1b runs.",
                        name_of(layout.schedule), megatron_name));
    }
    if (layout.split == Split::Balanced) {
        notes.push_back(
            fmt::format("layout.split balanced is not in {}: --pipeline-model-parallel-layout can name each stage.",
                        megatron_name));
    }
}

void megatron_parallelism(CommandLine& line, const Plan& plan, Notes& notes) {
    const Layout& layout = plan.layout;
    line.option("--tensor-model-parallel-size", layout.tp)
        .option("--pipeline-model-parallel-size", layout.pp)
        .option("--context-parallel-size", layout.cp);
    if (layout.sequence_parallel) line.flag("--sequence-parallel");
    schedule_of_stages(line, layout, notes);
    if (layout.zero_stage == 1) {
        line.flag("--use-distributed-optimizer").flag("--overlap-grad-reduce").flag("--overlap-param-gather");
    } else if (layout.zero_stage > 1) {
        line.flag("--use-distributed-optimizer")
            .flag("--use-megatron-fsdp")
            .option("--data-parallel-sharding-strategy", layout.zero_stage == 2 ? "optim_grads" : "optim_grads_params")
            .option("--ckpt-format", "fsdp_dtensor");  // the only one that Megatron-FSDP takes
    }
}

void megatron_recompute(CommandLine& line, const Layout& layout, Notes& notes) {
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
                        megatron_name));
    }
}

void precision(CommandLine& line, const Numerics& numerics, Notes& notes) {
    if (numerics.dtype == Dtype::Bf16) {
        line.flag("--bf16");
        if (!numerics.fp32_gradients) line.flag("--grad-reduce-in-bf16");
    }
    if (numerics.fp32_gradients) line.flag("--accumulate-allreduce-grads-in-fp32");
    if (numerics.dtype == Dtype::Fp16) {
        line.flag("--fp16");
        if (numerics.loss_scale > 0) {
            line.number("--loss-scale", numerics.loss_scale);
        } else {
            line.number("--initial-loss-scale", std::exp2(static_cast<double>(numerics.initial_scale_power)))
                .option("--loss-scale-window", numerics.loss_scale_window)
                .option("--hysteresis", numerics.hysteresis)
                .number("--min-loss-scale", numerics.min_loss_scale);
        }
    }
    if (numerics.attention == Attention::Flash) {
        line.flag("--use-flash-attn");
    } else {
        notes.push_back(fmt::format("numerics.attention eager is not in {}: --attention-backend unfused comes nearest.",
                                    megatron_name));
    }
}

void megatron_optimizer(CommandLine& line, const Plan& plan, Notes& notes) {
    const Optimizer& wanted = plan.optimizer;
    if (wanted.kind == OptimizerKind::Sgd) {
        line.option("--optimizer", "sgd").number("--sgd-momentum", wanted.momentum);
    } else {
        line.option("--optimizer", "adam")
            .number("--adam-beta1", wanted.beta1)
            .number("--adam-beta2", wanted.beta2)
            .number("--adam-eps", wanted.eps);
    }
    if (wanted.kind != OptimizerKind::Sgd && wanted.kind != OptimizerKind::AdamW) {
        notes.push_back(fmt::format("optimizer.kind {} is not in {}: adam stands in its place.", name_of(wanted.kind),
                                    megatron_name));
    }
    line.number("--lr", peak_learning_rate(plan))
        .number("--weight-decay", wanted.weight_decay)
        .number("--clip-grad", wanted.clip);
    if (plan.layout.offload_optimizer != Offload::None) {
        // The offload is part of the precision-aware optimizer, which is part of the distributed optimizer.
        line.flag("--optimizer-cpu-offload").flag("--use-precision-aware-optimizer");
        if (plan.layout.offload_optimizer == Offload::Nvme) {
            notes.push_back(
                fmt::format("Offload to NVMe is not in {}: the optimizer goes to host memory.", megatron_name));
        }
    }
    if (plan.layout.offload_parameters != Offload::None) {
        notes.push_back(fmt::format("layout.offload_parameters is not in {}: they stay on the GPUs.", megatron_name));
    }
}

void megatron_learning_rate(CommandLine& line, const Plan& plan, Notes& notes) {
    const LrSchedule& lr = plan.lr;
    const double peak = peak_learning_rate(plan);
    const char* style = "cosine";
    bool alike = !lr.tail && lr.warmup_shape == LrShape::Linear;
    switch (lr.kind) {
        case LrKind::Constant:
        case LrKind::TransformersConstant:
            style = "constant";
            break;
        case LrKind::Linear:
        case LrKind::TransformersLinear:
            style = "linear";
            break;
        case LrKind::Cosine:
        case LrKind::TransformersCosine:
        case LrKind::TransformersCosineMinLr:
            break;
        case LrKind::InverseSqrt:
            style = "inverse-square-root";
            break;
        case LrKind::Wsd:
            style = "WSD";
            break;
        default:
            alike = false;
    }
    line.option("--lr-decay-style", style)
        .option("--lr-warmup-iters", warmup_updates(lr, plan.training.steps))
        .option("--lr-decay-iters", plan.training.steps)
        .number("--lr-warmup-init", peak * lr.warmup_start_ratio)
        .number("--min-lr", lr.kind == LrKind::Constant ? peak : peak * lr.min_ratio);
    if (lr.kind == LrKind::Wsd) {
        line.option("--lr-wsd-decay-iters", decay_updates(lr, plan.training.steps))
            .option("--lr-wsd-decay-style", lr.decay_shape == LrShape::Cosine         ? "cosine"
                                            : lr.decay_shape == LrShape::OneMinusSqrt ? "minus_sqrt"
                                                                                      : "linear");
    }
    if (!alike) {
        notes.push_back(
            fmt::format("Megatron-LM has no schedule like lr.kind {}: {} is the nearest.", name_of(lr.kind), style));
    }
}

}  // namespace

Result<ExportedText> megatron(const Plan& plan) {
    const Model& m = plan.model;
    if (m.encoder_decoder()) {
        return bad_input("pretrain_gpt.py of Megatron-LM has no encoder: model.family t5 cannot be exported to it");
    }
    if (plan.layout.cp > 1 && plan.data.sequence_length % (2 * plan.layout.cp) != 0) {
        return bad_input(
            "Megatron-LM cuts a sequence in two pieces a context-parallel rank, and data.sequence_length {} is no multiple "
            "of {}: change it or layout.cp for this export",
            plan.data.sequence_length, 2 * plan.layout.cp);
    }
    ExportedText out;
    Notes& notes = out.notes;
    const Cluster& cluster = plan.cluster;
    CommandLine line(
        fmt::format("torchrun --nnodes={} --nproc-per-node={}{} pretrain_gpt.py", cluster.nodes, cluster.gpus_per_node,
                    cluster.nodes > 1 ? " --rdzv-backend=c10d --rdzv-endpoint=\"$MASTER_ADDR:29500\"" : ""));
    model(line, plan);
    stability(line, plan, notes);
    experts(line, plan);
    megatron_parallelism(line, plan, notes);
    megatron_recompute(line, plan.layout, notes);
    line.option("--micro-batch-size", plan.layout.micro_batch)
        .option("--global-batch-size", plan.layout.global_batch())
        .option("--train-iters", plan.training.steps);
    megatron_optimizer(line, plan, notes);
    megatron_learning_rate(line, plan, notes);
    precision(line, plan.numerics, notes);
    line.option("--seed", plan.training.seed)
        .option("--vocab-size", m.vocab_size)
        .option("--make-vocab-size-divisible-by", std::int64_t{1})
        .option("--tokenizer-type", "NullTokenizer")
        .flag("--mock-data")
        .option("--log-interval", std::int64_t{1});
    if (m.activation != Activation::SwiGlu && m.activation != Activation::Gelu) {
        notes.push_back(
            fmt::format("model.activation is not in {}: its MLP is GELU, or SwiGLU with --swiglu.", megatron_name));
    }
    notes.push_back(
        "The data are random numbers (--mock-data): write --data-path with a preprocessed corpus, and the tokenizer of "
        "that corpus in place of NullTokenizer.");
    if (plan.layout.tp > 1 || plan.layout.cp > 1) {
        notes.push_back(
            plan.layout.zero_stage > 1
                ? "Leave CUDA_DEVICE_MAX_CONNECTIONS unset: Megatron-FSDP refuses 1, which tensor and context "
                  "parallelism run best with."
                : "Set CUDA_DEVICE_MAX_CONNECTIONS=1 (plimsoll export env).");
    }
    note_rest(plan, megatron_name, notes);
    out.text = line.text();
    return out;
}

}  // namespace plimsoll::exports
