// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/framework_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/estimate/activations.h"

namespace plimsoll::framework_terms {
namespace {

bool is_core(const KeptTensor& tensor) { return tensor.what.starts_with("softmax") || tensor.what == "log-sum-exp"; }

/// No framework here has such a mode by that name; checkpoints in the model's code at the same places have this effect.
bool stays_without_mlp(const KeptTensor& tensor) {
    return tensor.what == "layer input" || tensor.what == "norm input" || tensor.what == "log-sum-exp" ||
           tensor.what == "output projection input" || tensor.what == "q, k and v";
}

bool stays(const Workload& work, const KeptTensor& tensor) {
    if (work.layout.recompute == Recompute::Selective && is_core(tensor)) return false;
    if (work.layout.recompute == Recompute::Mlp && !stays_without_mlp(tensor)) return false;
    return std::find(work.recomputed.begin(), work.recomputed.end(), tensor.what) == work.recomputed.end();
}

/// torchtitan's per-op policy (activation_checkpoint.py) keeps the outputs of every second product (here the query,
/// value, up and down projections) and of the attention, and the layer's input.
std::vector<KeptTensor> kept_by_ops(const Workload& work) {
    const Count e = bytes_of(work), tokens = work.tokens();
    const Count f = share(work.model.ffn_hidden_size, work.layout.tp);
    std::vector<KeptTensor> kept{
        {"layer input", layer_input(work)},
        {"products", e * tokens * (query_width(work) + key_width(work) + f) + layer_input(work)},
        {"attention output", e * tokens * query_width(work)},
        {"log-sum-exp", 4 * tokens * share(work.model.num_heads, work.layout.tp)}};
    if (work.keeps_gathered && work.layout.tp > 1)
        kept.push_back({"gathered inputs", 2 * e * tokens * work.model.hidden_size});
    // torchtitan's nvfp4.md: with products in 4 bits two models kept 47 and 49 % of the bytes in bf16.
    if (work.fp4)
        for (auto& tensor : kept) tensor.bytes = share(48 * tensor.bytes, 100);
    return kept;
}

std::vector<KeptTensor> kept_of(const Workload& work, Block block, const std::vector<KeptTensor>& all) {
    if (work.layout.recompute == Recompute::Full) {
        std::vector<KeptTensor> tensors{{"layer input", layer_input(work)}};
        if (work.kept_elements > 0)
            tensors.push_back({"kept products", Count(bytes_of(work)) * work.tokens() * work.kept_elements});
        return tensors;
    }
    if (work.selective_ops && block == Block::Decoder) return kept_by_ops(work);
    std::vector<KeptTensor> tensors;
    std::copy_if(all.begin(), all.end(), std::back_inserter(tensors),
                 [&](const KeptTensor& tensor) { return stays(work, tensor); });
    return tensors;
}

}  // namespace

Count scaled(double factor, Count count) {
    const double size = factor * static_cast<double>(count.value());
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return size < static_cast<double>(most) ? static_cast<std::int64_t>(size) : most;
}

std::string per_parameter(double bytes, Count parameters, std::int64_t ranks) {
    return ranks > 1 ? fmt::format("{:g} B × {} / {}", bytes, number(parameters), ranks)
                     : fmt::format("{:g} B × {}", bytes, number(parameters));
}

void TermList::add_step(Count needs, Count stays, const std::string& text, std::string source) {
    Count free;
    for (const auto& term : terms_)
        if (term.category == Category::Activations || term.category == Category::Buffers) free += term.bytes;
    free = free - stays;
    add("optimizer_step", "Optimizer step, beyond backward's peak", Category::Buffers, needs - free,
        fmt::format("max(0, U − F) = max(0, {} − {}); U = {}, F what backward frees: activations, logits, buffers",
                    number(needs), number(free), text.empty() ? "0" : text),
        std::move(source));
}

double moment_bytes(const Workload& work, std::int64_t each) {
    switch (work.optimizer.kind) {
        case OptimizerKind::AdamW:
        case OptimizerKind::Lamb:
            return static_cast<double>(2 * each);
        case OptimizerKind::Sgd:
            return work.optimizer.momentum > 0 ? static_cast<double>(each) : 0;
        case OptimizerKind::AdamW8bit:
            return 2 + 8.0 / 256;
        case OptimizerKind::Adafactor:
            return 0;
    }
    return 0;
}

SteppedTensors stepped_tensors(const Workload& work, const StageShape& shape, Count trained) {
    const Count matrix = share(work.model.ffn_hidden_size, work.layout.tp) * work.model.hidden_size;
    const Count whole = std::max<Count>(shape.total(), 1), largest = std::max(shape.embedding, matrix);
    const double part = static_cast<double>(trained.value()) / static_cast<double>(whole.value());
    return {trained, scaled(part, largest), matrix >= shape.embedding};
}

Count adapter_parameters(const Workload& work) {
    const Count rank = work.adapters.rank, layers = work.model.num_layers;
    if (work.adapters.matrices.empty()) {
        const Count h = work.model.hidden_size;
        return layers * rank * ((h + query_width(work)) + (h + key_width(work)));
    }
    Count sum;
    for (const LayerMatrix& matrix : work.adapters.matrices) sum += rank * (Count(matrix.in) + matrix.out);
    return layers * sum;
}

std::int64_t bytes_of(const Workload& work) { return plimsoll::bytes_of(work.numerics.dtype); }

KeptActivations kept_activations(const Workload& work, const StageShare& stage) {
    KeptActivations kept;
    const double whole = static_cast<double>(std::max<std::int64_t>(stage.layers, 1));
    // Full recomputation may leave out layers: only every n-th layer is recomputed.
    const auto every = work.layout.recompute == Recompute::Full ? work.layout.recompute_every : 1;
    const auto add = [&](Block block, std::int64_t layers) {
        if (layers == 0) return;
        const auto all = layer_tensors(work, block);
        const auto own = kept_of(work, block, all);
        const Count bytes = sum(own), full = sum(all);
        const double alive = stage.kept_layers * static_cast<double>(layers) / whole;
        const double mean =
            (static_cast<double>(bytes.value()) + static_cast<double>(every - 1) * static_cast<double>(full.value())) /
            static_cast<double>(every);
        const Count part = scaled(alive, scaled(mean, 1));
        kept.bytes += part;
        if (bytes > kept.layer) kept.layer = bytes;
        kept.again = std::max(kept.again, full - bytes);
        kept.text +=
            fmt::format("{}{:g} layer micro-batches × ({})", kept.text.empty() ? "" : "; ", alive, written_out(own));
    };
    add(work.encoder_layers > 0 ? Block::T5Decoder : Block::Decoder, stage.layers - stage.routed);
    add(Block::Routed, stage.routed);
    if (stage.encoder_layers > 0) {
        const auto own = layer_tensors(work, Block::Encoder);
        kept.bytes += stage.encoder_layers * sum(own);
        kept.text += fmt::format("; {} encoder layers × {}", stage.encoder_layers, number(sum(own)));
    }
    return kept;
}

Count layer_backward(const Workload& work) {
    const Count e = bytes_of(work), tokens = work.tokens();
    const Count inner = e * tokens * share(work.model.ffn_hidden_size, work.layout.tp);
    const Count mlp = (work.model.gated_mlp() ? 2 : 1) * inner;
    const Count scores = work.numerics.attention == Attention::Flash
                             ? Count(0)
                             : e * share(work.model.num_heads, work.layout.tp) * tokens * work.sequence;
    Count routed;
    if (work.model.moe()) {
        const Count rows = share(Count(work.model.experts_per_token) * tokens, work.sequence_split());
        routed = e * rows * (2 * work.model.hidden_size + 2 * share(work.expert_ffn(), work.expert_tp()));
    }
    return std::max({mlp, scores, routed}) + 2 * e * tokens * work.model.hidden_size;
}

Count end_activations(const Workload& work, const StageShare& stage) {
    Count bytes;
    if (stage.first && work.model.dropout > 0)
        bytes += share(work.tokens() * work.model.hidden_size, work.sequence_split());
    if (stage.last) bytes += 2 * layer_input(work);
    return bytes;
}

Count logit_elements(const Workload& work) {
    return work.tokens() * share(work.vocabulary, work.loss_parallel ? work.layout.tp : 1);
}

}  // namespace plimsoll::framework_terms
