// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/decoder.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/engine/layers/recompute.h"
#include "core/engine/layers/ring_attention.h"
#include "core/engine/layers/tensor_parallel.h"
#include "core/engine/memory/memory_scope.h"
#include "core/engine/model/chunked_loss.h"
#include "core/engine/model/init.h"
#include "core/engine/model/vocabulary_loss.h"
#include "core/plan/adapter.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;

std::shared_ptr<DecoderLayer> make_layer(const ModelContext& context) {
    const Model& model = context.plan->model;
    switch (model.family) {
        case Family::Gpt2:
            if (model.moe()) break;
            return make_gpt2_layer(context);
        case Family::Llama:
        case Family::Mistral:
        case Family::Mixtral:
        case Family::Qwen2:
            return make_llama_layer(context);
        case Family::T5:
            break;
    }
    throw std::invalid_argument("only gpt2, llama, mistral, mixtral and qwen2 models can be trained");
}

/// x, whose gradient is multiplied by `factor` (GLM-130B's embedding gradient shrink).
struct ShrunkGradient : torch::autograd::Function<ShrunkGradient> {
    static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x, double factor) {
        ctx->saved_data["factor"] = factor;
        return x.view_as(x);
    }
    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::tensor_list& gradients) {
        return {gradients[0] * ctx->saved_data["factor"].toDouble(), {}};
    }
};

WithSideLoss through_layer(const std::shared_ptr<DecoderLayer>& layer, const Tensor& x, const LayerInput& input,
                           bool recomputed) {
    const auto run = [layer, input](const std::vector<Tensor>& in, Replay&) { return layer->forward(in[0], input); };
    Replay once;
    return recomputed ? recompute(run, {x}) : run({x}, once);
}

Tensor shrunk_gradient(const Tensor& x, double factor) { return factor == 1 ? x : ShrunkGradient::apply(x, factor); }

}  // namespace

Stage whole_model(const Plan& plan) { return {0, plan.model.num_layers, true, true}; }

Decoder::Decoder(const ModelContext& context, const Stage& stage, std::shared_ptr<Embedding> embedding)
    : context_(context), stage_(stage), rotary_(context.plan->model.head_size(), context.plan->model.rope_theta) {
    const Model& m = context.plan->model;
    const FamilyNames names = names_of(m.family);
    const auto body = register_module(names.body, std::make_shared<torch::nn::Module>());
    const auto table = [&] { return std::make_shared<Embedding>(m.vocab_size, m.hidden_size, true, context); };
    if (stage.embedding) {
        tokens_ = body->register_module(names.embedding, table());
        if (m.position == Position::Learned) {
            positions_ = body->register_module(
                names.positions, std::make_shared<Embedding>(m.max_position, m.hidden_size, false, context));
        }
    }
    const auto layers = body->register_module(names.layers, std::make_shared<torch::nn::Module>());
    for (std::int64_t i = 0; i < stage.layers; ++i) {
        layers_.push_back(layers->register_module(std::to_string(stage.first_layer + i), make_layer(context)));
    }
    if (!stage.head) return;
    if (m.norm == Norm::LayerNorm) {
        layer_norm_ =
            body->register_module(names.norm, std::make_shared<LayerNorm>(m.hidden_size, m.norm_eps, context));
    } else {
        rms_norm_ = body->register_module(names.norm, std::make_shared<RmsNorm>(m.hidden_size, m.norm_eps, context));
    }
    if (!m.tied_head) {
        Linear::Shape shape{.in = m.hidden_size, .out = m.vocab_size};
        shape.split = MatrixSplit::Columns;
        head_ = register_module("lm_head", std::make_shared<Linear>(shape, context));
    } else if (stage.embedding) {
        tied_head_ = tokens_;
    } else if (embedding) {
        tied_head_ = std::move(embedding);
    } else {
        tied_head_ = register_module("lm_head", table());
        tied_head_->mark_copy_of("weight", names.body + "." + names.embedding + ".weight");
    }
}

std::int64_t Decoder::max_time() const {
    const Model& m = context_.plan->model;
    return m.position == Position::Learned ? m.max_position : std::numeric_limits<std::int64_t>::max();
}

std::string Decoder::layer_of(const std::string& parameter_name) {
    for (const std::string_view prefix : {"model.layers.", "transformer.h."}) {
        if (!parameter_name.starts_with(prefix)) continue;
        const std::size_t end = parameter_name.find('.', prefix.size());
        return parameter_name.substr(prefix.size(), end == std::string::npos ? end : end - prefix.size());
    }
    for (const std::string_view prefix : {"model.embed_tokens.", "transformer.wte.", "transformer.wpe."}) {
        if (parameter_name.starts_with(prefix)) return "embed";
    }
    return "head";
}

bool Decoder::frozen(const Plan& plan, const std::string& parameter_name) {
    return adapts(plan) && parameter_name.find(".lora_") == std::string::npos;
}

std::size_t Decoder::unit_of(const std::string& parameter_name) const {
    const std::string layer = layer_of(parameter_name);
    if (layer == "embed") return 0;
    if (layer == "head") return layers_.size() + 1;
    return static_cast<std::size_t>(std::stoll(layer) - stage_.first_layer) + 1;
}

bool Decoder::recomputes(std::int64_t layer) const {
    return context_.recompute == Recompute::Full && layer % context_.plan->layout.recompute_every == 0 &&
           is_training() && torch::GradMode::is_enabled();
}

/// `positions` belong to this context-parallel rank; with sequence parallelism the residual stream holds a part of
/// them.
LayerInput Decoder::layer_input(const Tensor& x, const Tensor& positions, const DropoutKey& key) const {
    LayerInput input;
    input.key = key;
    input.whole = positions.size(0) * context_.cp();
    if (context_.cp() > 1 || context_.sequence_parallel()) {
        const std::int64_t part = context_.sequence_parallel() ? positions.size(0) / context_.tp() : positions.size(0);
        input.places = positions.narrow(0, context_.sequence_parallel() ? context_.tp_rank() * part : 0, part);
    }
    if (context_.plan->model.position == Position::Rotary) input.rotary = rotary_.table(positions, x);
    return input;
}

WithSideLoss Decoder::body(const Tensor& input, const DropoutKey& key, double side_loss_scale) {
    const std::int64_t split = !stage_.embedding && context_.sequence_parallel() ? context_.tp() : 1;
    const Tensor positions =
        context_positions(input.size(1) * split * context_.cp(), context_.mesh->context().rank(), context_.cp())
            .to(input.device());
    Tensor x = input;
    LayerInput in;
    if (stage_.embedding) {
        const MemoryScope scope(MemoryCategory::Activations, embedding_layer);
        x = shrunk_gradient(tokens_->forward(enter(0, input)), context_.plan->model.embedding_gradient);
        in = layer_input(x, positions, key);
        if (positions_) x = x + positions_->forward(in.places.defined() ? in.places : positions);
        const double p = is_training() ? context_.plan->model.dropout : 0;
        x = leave(0, dropout(x, p, key.in_layer(-1), DropoutSite::Embedding, in.places, in.whole));
        x = context_.probe->passed(embedding_layer, x);
    } else {
        in = layer_input(x, positions, key);
    }
    if (is_training() && torch::GradMode::is_enabled()) in.side_loss_scale = side_loss_scale;
    double router_loss = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const std::int64_t number = stage_.first_layer + static_cast<std::int64_t>(i);
        const MemoryScope scope(MemoryCategory::Activations, static_cast<std::int32_t>(number));
        LayerInput own = in;
        own.key = key.in_layer(number);
        x = enter(i + 1, x);
        const WithSideLoss y = through_layer(layers_[i], x, own, recomputes(number));
        router_loss += y.side_loss;
        x = leave(i + 1, y.x);
        x = context_.probe->passed(static_cast<std::int32_t>(number), x);
    }
    return {x, router_loss};
}

Tensor Decoder::head_input(const Tensor& residual) {
    const Tensor x = enter(layers_.size() + 1, residual);
    const Tensor normed = layer_norm_ ? layer_norm_->forward(x) : rms_norm_->forward(x);
    return enter_tensor_parallel(normed, context_);
}

Tensor Decoder::local_logits(const Tensor& normed) const {
    if (head_) return head_->forward(normed);
    const Tensor& weight = tied_head_->weight();
    if (context_.deferred || weight.scalar_type() != normed.scalar_type()) {
        return deferrable_linear(normed, weight, false, context_.deferred);
    }
    return at::linear(normed, weight);
}

double Decoder::z_loss() const { return is_training() ? context_.plan->model.z_loss : 0; }

/// Sum over a part of the `tokens` of the mean, with the part's share of the z-loss.
WithSideLoss Decoder::loss_sum(const Tensor& normed, const Tensor& targets, std::int64_t tokens) const {
    const Tensor logits = local_logits(normed);
    if (context_.tp() > 1) {
        const ShardedModule& owner = head_ ? static_cast<const ShardedModule&>(*head_) : *tied_head_;
        double squares = 0;
        const Tensor sum = vocabulary_parallel_loss(logits, targets, owner.shards().at("weight").ranges.front().first,
                                                    context_.tensor(), z_loss(), &squares);
        return {sum, z_loss() * squares / static_cast<double>(tokens)};
    }
    const Tensor wide = logits.scalar_type() == torch::kDouble ? logits : logits.to(torch::kFloat);
    return {at::cross_entropy_loss(wide, targets, {}, at::Reduction::Sum)};
}

WithSideLoss Decoder::loss(const Tensor& residual, const Tensor& targets) {
    const MemoryScope head(MemoryCategory::Activations, head_layer);
    const Tensor input = head_input(residual);
    const MemoryScope scope(MemoryCategory::Buffers);
    const std::int64_t asked = context_.plan->layout.loss_chunks;
    if ((asked > 1 || z_loss() > 0) && context_.tp() == 1) {
        const Tensor& weight = head_ ? head_->weight() : tied_head_->weight();
        WithSideLoss mean;
        mean.x = leave(layers_.size() + 1,
                       chunked_language_model_loss(input, weight, targets, asked, z_loss(), &mean.side_loss));
        return mean;
    }
    const Tensor normed = input.flatten(0, 1);
    const Tensor flat = targets.reshape({-1});
    const std::int64_t chunks = std::min(asked, normed.size(0));
    WithSideLoss sum;
    for (std::int64_t i = 0; i < chunks; ++i) {
        const std::int64_t begin = normed.size(0) * i / chunks, length = normed.size(0) * (i + 1) / chunks - begin;
        const Tensor piece = normed.narrow(0, begin, length), target = flat.narrow(0, begin, length);
        // Only the pieces of the input are kept; each piece's logits are computed again in the backward pass.
        const auto run = [this, target, tokens = flat.size(0)](const std::vector<Tensor>& in, Replay&) {
            return loss_sum(in[0], target, tokens);
        };
        Replay once;
        const WithSideLoss part =
            chunks > 1 && torch::GradMode::is_enabled() ? recompute(run, {piece}) : run({piece}, once);
        sum.x = sum.x.defined() ? sum.x + part.x : part.x;
        sum.side_loss += part.side_loss;
    }
    return {leave(layers_.size() + 1, sum.x / static_cast<double>(flat.size(0))), sum.side_loss};
}

Tensor Decoder::logits(const Tensor& residual) {
    const Tensor local = local_logits(head_input(residual));
    const Tensor all = context_.tp() > 1 ? gathered_vocabulary(local, vocab_size(), context_.tensor()) : local;
    return leave(layers_.size() + 1, all);
}

Tensor Decoder::forward(const Tensor& tokens) {
    const bool drops = is_training() && context_.plan->model.dropout > 0;
    return logits(body(tokens, drops ? DropoutKey::drawn(tokens.size(0)) : DropoutKey()).x);
}

std::shared_ptr<Decoder> make_decoder(const ModelContext& context, const Stage& stage, std::uint64_t seed,
                                      std::shared_ptr<Embedding> embedding) {
    auto decoder = std::make_shared<Decoder>(context, stage, std::move(embedding));
    for (auto& item : decoder->named_parameters()) {
        if (Decoder::frozen(*context.plan, item.key())) item.value().requires_grad_(false);
    }
    if (context.parameters.later) return decoder;
    // A tensor without memory (a dry run) has no numbers to set.
    if (!context.parameters.options.device().is_meta()) initialize(*decoder, context.plan->model, seed);
    decoder->to(scalar_type(context.plan->numerics.weight_dtype()));
    return decoder;
}

std::shared_ptr<Decoder> make_decoder(const Plan& plan, std::uint64_t seed) {
    // A model without a training run: its plan and mesh live as long as the model.
    struct Own {
        Plan plan;
        std::unique_ptr<Mesh> mesh;
        std::shared_ptr<Decoder> decoder;
    };
    auto own = std::make_shared<Own>();
    own->plan = plan;
    own->mesh = Mesh::alone();
    ModelContext context;
    context.plan = &own->plan;
    context.mesh = own->mesh.get();
    context.recompute = plan.layout.recompute;
    own->decoder = make_decoder(context, whole_model(plan), seed);
    Decoder* const decoder = own->decoder.get();
    return {std::move(own), decoder};
}

std::vector<std::pair<std::string, Tensor>> parameters_of(const torch::nn::Module& module) {
    std::vector<std::pair<std::string, Tensor>> parameters;
    for (const auto& entry : module.named_parameters()) {
        const bool seen = std::any_of(parameters.begin(), parameters.end(),
                                      [&](const auto& other) { return other.second.is_same(entry.value()); });
        if (!seen) parameters.emplace_back(entry.key(), entry.value());
    }
    return parameters;
}

Tensor language_model_loss(const Tensor& logits, const Tensor& targets) {
    const Tensor wide = logits.scalar_type() == torch::kDouble ? logits : logits.to(torch::kFloat);
    return at::cross_entropy_loss(wide.reshape({-1, wide.size(-1)}), targets.reshape({-1}));
}

}  // namespace plimsoll::engine
