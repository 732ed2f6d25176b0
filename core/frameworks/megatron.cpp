// SPDX-License-Identifier: Apache-2.0
// Megatron-LM with Transformer Engine.
#include <fmt/format.h>

#include <algorithm>

#include "core/frameworks/framework_terms.h"

namespace plimsoll::framework_terms {
namespace {

constexpr auto distributed_optimizer = "Megatron-LM: distrib_optimizer.py, param_and_grad_buffer.py";

/// cuBLAS keeps a workspace a thread and stream, here the forward's and the backward's; Transformer Engine one more. 32
/// MiB each from compute capability 9.0 on, before it 8.1 and 4 (aten/src/ATen/cuda/CUDABlas.cpp, CublasHandlePool.cpp;
/// transformer_engine module/base.py). ":4096:8" sets cuBLAS's to 32. The remainder is random states, masks and
/// position ids.
Count workspaces(const Workload& work) {
    const Count cublas = work.deterministic || work.hopper ? 32 * MiB : 8 * MiB + 128 * KiB;
    return 2 * cublas + (work.hopper ? 32 : 4) * MiB + 12 * MiB;
}

struct Sharded {
    Count dense, experts;
    std::int64_t dense_ranks, expert_ranks;
    Count own() const { return share(dense, dense_ranks) + share(experts, expert_ranks); }
    std::string text(double bytes) const {
        auto words = per_parameter(bytes, dense, dense_ranks);
        if (experts > 0) words += fmt::format(" + {}", per_parameter(bytes, experts, expert_ranks));
        return words;
    }
};

Sharded shard_of(const Workload& work, const StageShape& shape, bool sharded) {
    const auto& layout = work.layout;
    const auto ranks = std::max<std::int64_t>(layout.dp * layout.cp / work.optimizer_instances, 1);
    return {shape.dense, shape.experts, sharded ? ranks : 1,
            sharded ? std::max<std::int64_t>(work.expert_ranks() / work.optimizer_instances, 1) : 1};
}

/// The offload takes the distributed optimizer along (arguments.py: it is part of the precision-aware optimizer).
bool optimizer_sharded(const Layout& layout) {
    return layout.zero_stage >= 1 || layout.offload_optimizer != Offload::None;
}

/// bf16 accumulates in fp32 unless --grad-reduce-in-bf16, which the export sets where numerics.fp32_gradients is off;
/// fp16 in fp16 (arguments.py).
std::int64_t gradient_bytes(const Workload& work) {
    return bytes_of(work) == 4 || work.numerics.fp32_gradients ? 4 : 2;
}

void states(const Workload& work, const StageShape& shape, TermList& list) {
    const auto& layout = work.layout;
    const auto add = [&](const char* key, const char* name, Category category, double bytes, bool sharded,
                         const char* source) {
        const auto own = shard_of(work, shape, sharded);
        list.add(key, name, category, scaled(bytes, own.own()), own.text(bytes), source);
    };
    const auto e = bytes_of(work);
    const bool mixed = e == 2;
    add("parameters", "Parameters", Category::Parameters, static_cast<double>(e), layout.zero_stage >= 3,
        "Shoeybi et al. 2019; the vocabulary padded to a multiple of 128 tp");
    add("gradients", "Gradients", Category::Gradients, static_cast<double>(gradient_bytes(work)),
        layout.zero_stage >= 2, distributed_optimizer);
    if (layout.offload_optimizer != Offload::None) {
        list.add("moments", "Optimizer states", Category::Optimizer, 0,
                 "0 on the device: masters and moments are in host memory",
                 "Megatron-LM: cpu_offloading/hybrid_optimizer.py, --optimizer-offload-fraction 1");
        return;
    }
    if (mixed)
        add("master_weights", "Master weights (fp32)", Category::Optimizer, 4, layout.zero_stage >= 1,
            distributed_optimizer);
    // Moments in bf16 are its precision-aware optimizer's.
    const bool narrow = work.optimizer.state_dtype == Dtype::Bf16 && work.optimizer.kind == OptimizerKind::AdamW;
    add("moments", "Optimizer states", Category::Optimizer,
        moment_bytes(work, narrow && layout.zero_stage >= 1 ? 2 : 4), layout.zero_stage >= 1, distributed_optimizer);
}

/// Gradients below fp32 are copied to fp32 for the masters (distrib_optimizer.py, _copy_model_grads_to_main_grads); the
/// precision-aware optimizer of an offload reads them as they are. Apex's and Transformer Engine's Adam work in place.
void step(const Workload& work, const StageShape& shape, Count stays, TermList& list) {
    const bool away = work.layout.offload_optimizer != Offload::None;
    const bool copies = !away && gradient_bytes(work) == 2;
    const auto own = shard_of(work, shape, work.layout.zero_stage >= 1);
    list.add_step(copies ? 4 * own.own() : Count(0), stays, copies ? own.text(4) : "",
                  "Megatron-LM: distrib_optimizer.py, shard_main_param.grad = shard_model_grad.float()");
}

}  // namespace

// The vocabulary-parallel loss makes an fp32 copy of the 16-bit logits, turns it into the softmax in place and keeps
// it; its gradient is cast back to 16 bits before the copy is freed (cross_entropy.py).
constexpr std::int64_t loss_bytes = 6;

std::vector<Term> megatron(const Workload& work, const StageShare& stage) {
    TermList list;
    const auto shape = stage_shape(work, stage);
    states(work, shape, list);

    const auto kept = kept_activations(work, stage);
    list.add("activations", "Activations", Category::Activations, kept.bytes, kept.text,
             "op by op as Transformer Engine keeps them; Korthikanti et al. 2022, table 2");
    Count predicted;
    if (stage.last && work.prediction_layers > 0) {
        predicted =
            work.prediction_layers *
            (sum(layer_tensors(work, work.model.moe() ? Block::Routed : Block::Decoder)) + 4 * layer_input(work));
        list.add("prediction_layers", "Layers that predict further tokens", Category::Activations, predicted,
                 fmt::format("{} × a layer and its joined inputs", work.prediction_layers), "DeepSeek-V3, section 2.2");
    }
    list.add("end_activations", "Embedding and final norm", Category::Activations, end_activations(work, stage),
             "embedding dropout mask; final norm input and output", "Korthikanti et al. 2022, section 4.3");

    Count logits;
    if (stage.last) {
        const Count size = logit_elements(work);
        logits = loss_bytes * size * (1 + work.prediction_layers);
        list.add("logits_and_loss", "Logits and loss", Category::Buffers, logits,
                 fmt::format("(2 B logits + 4 B softmax) × tokens × V / tp = 6 × {}{}", number(size),
                             work.prediction_layers > 0 ? fmt::format(" × {}", 1 + work.prediction_layers) : ""),
                 "Megatron-LM: cross_entropy.py");
    }
    const bool recomputes = work.layout.recompute != Recompute::None;
    const Count needed = layer_backward(work) + (recomputes ? kept.again : Count(0));
    list.add(
        "layer_backward", "One layer's backward", Category::Activations, needed - logits,
        fmt::format("max(0, W − G) = max(0, {} − {}); G the logits freed before it", number(needed), number(logits)),
        "the gradients of the MLP's inner tensors or of the attention's scores, and what is recomputed");

    const Count hidden = Count(bytes_of(work)) * work.tokens() * work.model.hidden_size;
    if (work.layout.pp > 1)
        list.add("pipeline_buffers", "Pipeline send and receive", Category::Buffers,
                 2 * share(hidden, work.sequence_split()), "2 × the stage's boundary tensor",
                 "Narayanan et al. 2021, section 2.2");
    if (work.layout.sequence_parallel && work.layout.tp > 1)
        list.add("sequence_parallel_buffer", "Gathered sequence", Category::Buffers, hidden,
                 fmt::format("tokens × h in 16 bits = {}", number(hidden)), "Megatron-LM: GlobalMemoryBuffer");
    if (work.layout.zero_stage >= 3 && work.layout.dp > 1)
        list.add("gathered_layers", "Gathered layers", Category::Buffers, (2 * 2 + 4) * shape.layer,
                 fmt::format("(2 × 2 B weights + 4 B gradients) × {}", number(shape.layer)), "Megatron-FSDP");
    list.add("workspaces", "cuBLAS and Transformer Engine workspaces", Category::Buffers, workspaces(work),
             "2 × cuBLAS + Transformer Engine + random states, masks and ids", "CUDABlas.cpp; transformer_engine");
    step(work, shape, workspaces(work), list);
    return list.take();
}

std::vector<Term> megatron_host(const Workload& work, const StageShare& stage) {
    if (work.layout.offload_optimizer == Offload::None) return {};
    TermList list;
    const auto own = shard_of(work, stage_shape(work, stage), optimizer_sharded(work.layout));
    const auto add = [&](const char* key, const char* name, Category category, double bytes) {
        list.add(key, name, category, scaled(bytes, own.own()), own.text(bytes),
                 "Megatron-LM: cpu_offloading/hybrid_optimizer.py");
    };
    add("host_master_weights", "Master weights (fp32)", Category::Optimizer, 4);
    add("host_moments", "Optimizer states", Category::Optimizer, moment_bytes(work));
    add("host_gradients", "Gradients for the CPU's optimizer (fp32)", Category::Gradients, 4);
    return list.take();
}

}  // namespace plimsoll::framework_terms
