// SPDX-License-Identifier: Apache-2.0
// Hugging Face's Trainer: DDP (or one GPU), autocast in 16 bits over fp32 weights; or adapters on a frozen base.
#include <fmt/format.h>

#include <algorithm>

#include "core/frameworks/framework_terms.h"

namespace plimsoll::framework_terms {
namespace {

constexpr auto anatomy = "transformers documentation, model memory anatomy";

/// Head and loss in pieces (Liger Kernel's fused linear cross-entropy): logits, fp32 copy and gradient of one piece; the
/// gradients of the head's input and, where it trains, of its matrix wait for the backward.
Count in_pieces(const Workload& work) {
    const Count e = bytes_of(work), hidden = work.model.hidden_size;
    const Count matrix = work.adapters.rank > 0 ? Count(0) : work.vocabulary * hidden;
    return (e == Count(2) ? 14 : 12) * share(logit_elements(work), work.loss_pieces) + e * (work.tokens() * hidden) +
           4 * matrix;
}

}  // namespace

std::vector<Term> hf_trainer(const Workload& work, const StageShare& stage) {
    TermList list;
    const auto shape = stage_shape(work, stage);
    const Count all = shape.total();
    const bool half = bytes_of(work) == 2;
    const auto add = [&](const char* key, const char* name, Category category, double bytes, Count parameters) {
        list.add(key, name, category, scaled(bytes, parameters), per_parameter(bytes, parameters), anatomy);
    };
    const auto& layout = work.layout;
    const bool sharded = layout.zero_stage >= 3 && layout.dp > 1;  // FSDP
    const Count own = sharded ? share(all, layout.dp) : all;
    const bool pure = half && work.pure_half;
    Count trained = own;
    if (work.adapters.rank > 0) {
        trained = adapter_parameters(work);
        add("parameters", "Frozen weights", Category::Parameters, work.adapters.base_bytes, own);
        add("adapters", "Adapters", Category::Parameters, pure ? 2 : 4, trained);
    } else {
        const bool away = layout.offload_parameters != Offload::None;
        add("parameters", "Parameters", Category::Parameters, away ? 0 : pure ? 2 : 4, own);
        if (half && !pure && !sharded)
            add("autocast_weights", "Autocast's copy of the weights", Category::Parameters, 2, own);
    }
    const double gradient = work.step_in_backward || layout.offload_parameters != Offload::None ? 0 : pure ? 2 : 4;
    add("gradients", "Gradients", Category::Gradients, gradient, trained);
    // PyTorch's optimizers keep their states in the dtype of the weights.
    const double moment = layout.offload_optimizer != Offload::None ? 0 : moment_bytes(work, pure ? 2 : 4);
    add("moments", "Optimizer states", Category::Optimizer, moment, trained);
    if (pure && work.numerics.has_compensation())
        add("compensation", "Kahan compensation", Category::Optimizer, 2, trained);
    if (sharded)
        list.add("gathered_layers", "Gathered layers", Category::Buffers, 2 * 2 * shape.layer,
                 fmt::format("2 layers × 2 B × {}", number(shape.layer)), "PyTorch FSDP");

    const auto kept = kept_activations(work, stage);
    list.add("activations", "Activations", Category::Activations, kept.bytes, kept.text, "op by op");
    list.add("end_activations", "Embedding and final norm", Category::Activations, end_activations(work, stage),
             "embedding dropout mask; final norm input and output", "op by op");
    // A classifier on the pooled output (BERT) has almost no logits.
    const double of_logit = work.loss == LossKind::Chunked ? 4 + 12.0 / static_cast<double>(work.loss_pieces)
                            : half                         ? 14
                                                           : 12;
    const bool pieces = work.loss == LossKind::ChunkedHead;
    const Count logits = work.bert ? Count(0) : pieces ? in_pieces(work) : scaled(of_logit, logit_elements(work));
    if (logits > 0)
        list.add("logits_and_loss", "Logits and loss", Category::Buffers, logits,
                 pieces
                     ? fmt::format("{} B × tokens × V / {} + {} B × tokens × h{}", half ? 14 : 12, work.loss_pieces,
                                   bytes_of(work), work.adapters.rank > 0 ? "" : " + 4 B × V h")
                     : fmt::format("{:g} B (16-bit logits, fp32 copy, log-softmax, gradient) × tokens × V = {:g} × {}",
                                   of_logit, of_logit, number(logit_elements(work))),
                 pieces ? "Liger Kernel: fused_linear_cross_entropy (Hsu et al. 2024)"
                        : "transformers: loss_utils.py, ForCausalLMLoss");
    const Count needed = layer_backward(work) + (layout.recompute != Recompute::None ? kept.again : Count(0));
    list.add("layer_backward", "One layer's backward", Category::Activations, needed - logits,
             fmt::format("max(0, W − G) = max(0, {} − {})", number(needed), number(logits)), "op by op");
    Count buckets;
    if (layout.dp > 1 && !sharded) {
        buckets = 4 * trained;
        list.add("gradient_buckets", "Gradient buckets", Category::Buffers, buckets, per_parameter(4, trained),
                 "PyTorch DDP keeps a copy of the gradients in its buckets (gradient_as_bucket_view is off)");
    }
    // A step in the backward pass takes one tensor at a time.
    const bool away = layout.offload_optimizer != Offload::None || work.step_in_backward;
    const auto tensors = stepped_tensors(work, shape, trained);
    list.add_step(away ? Count(0) : step_temporaries(work.optimizer, work.step, tensors), buckets,
                  away ? "0" : step_temporaries_text(work.optimizer, work.step, tensors),
                  "transformers: trainer_optimizer.py; torch/optim/adam.py, fused with optim=adamw_torch_fused");
    return list.take();
}

}  // namespace plimsoll::framework_terms
