// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/parameters.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;
using Weights = std::map<std::string, Tensor>;

std::int64_t parameter_count(const torch::nn::Module& module) {
    std::int64_t count = 0;
    for (const Tensor& parameter : module.parameters()) count += parameter.numel();
    return count;
}

Weights weights_of(const Decoder& model) {
    Weights weights;
    for (const auto& item : model.named_parameters()) weights[item.key()] = item.value().detach();
    return weights;
}

// ---- The architectures written down a second time, as plainly as possible: one head at a time, in fp64.

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor scores = torch::matmul(q, k.transpose(0, 1)) / std::sqrt(static_cast<double>(q.size(1)));
    const Tensor later = torch::ones({q.size(0), q.size(0)}, torch::kBool).triu(1);
    return torch::matmul(torch::softmax(scores.masked_fill(later, -1e300), 1), v);
}

Tensor rotated(const Tensor& x, double theta) {
    const std::int64_t time = x.size(0), half = x.size(1) / 2;
    Tensor y = x.clone();
    for (std::int64_t t = 0; t < time; ++t) {
        for (std::int64_t i = 0; i < half; ++i) {
            const double angle =
                static_cast<double>(t) * std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
            const double a = x[t][i].item<double>(), b = x[t][i + half].item<double>();
            y[t][i] = a * std::cos(angle) - b * std::sin(angle);
            y[t][i + half] = b * std::cos(angle) + a * std::sin(angle);
        }
    }
    return y;
}

Tensor plain_linear(const Weights& w, const std::string& name, const Tensor& x) {
    const Tensor y = torch::matmul(x, w.at(name + ".weight").transpose(0, 1));
    return w.count(name + ".bias") ? y + w.at(name + ".bias") : y;
}

Tensor plain_llama(const Model& m, const Weights& w, const Tensor& tokens) {
    const auto norm = [&](const std::string& name, const Tensor& x) {
        return x / torch::sqrt(x.square().mean(1, true) + m.norm_eps) * w.at(name + ".weight");
    };
    Tensor x = w.at("model.embed_tokens.weight").index_select(0, tokens);
    for (std::int64_t layer = 0; layer < m.num_layers; ++layer) {
        const std::string at = "model.layers." + std::to_string(layer) + ".";
        const Tensor in = norm(at + "input_layernorm", x);
        const Tensor q = plain_linear(w, at + "self_attn.q_proj", in), k = plain_linear(w, at + "self_attn.k_proj", in),
                     v = plain_linear(w, at + "self_attn.v_proj", in);
        std::vector<Tensor> heads;
        for (std::int64_t head = 0; head < m.num_heads; ++head) {
            const std::int64_t kv = head * m.num_kv_heads / m.num_heads, size = m.head_size();
            const auto of = [&](const Tensor& all, std::int64_t h) { return all.narrow(1, h * size, size); };
            heads.push_back(attend(rotated(of(q, head), m.rope_theta), rotated(of(k, kv), m.rope_theta), of(v, kv)));
        }
        x = x + plain_linear(w, at + "self_attn.o_proj", torch::cat(heads, 1));
        const Tensor mlp_in = norm(at + "post_attention_layernorm", x);
        const Tensor gate = plain_linear(w, at + "mlp.gate_proj", mlp_in);
        x = x + plain_linear(w, at + "mlp.down_proj",
                             gate * torch::sigmoid(gate) * plain_linear(w, at + "mlp.up_proj", mlp_in));
    }
    const Tensor& head = w.at(m.tied_head ? "model.embed_tokens.weight" : "lm_head.weight");
    return torch::matmul(norm("model.norm", x), head.transpose(0, 1));
}

Tensor plain_gpt2(const Model& m, const Weights& w, const Tensor& tokens) {
    const auto norm = [&](const std::string& name, const Tensor& x) {
        const Tensor centred = x - x.mean(1, true);
        return centred / torch::sqrt(centred.square().mean(1, true) + m.norm_eps) * w.at(name + ".weight") +
               w.at(name + ".bias");
    };
    const auto conv = [&](const std::string& name, const Tensor& x) {
        return torch::matmul(x, w.at(name + ".weight")) + w.at(name + ".bias");
    };
    const auto gelu = [](const Tensor& x) {
        return 0.5 * x * (1 + torch::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    };
    Tensor x = w.at("transformer.wte.weight").index_select(0, tokens) +
               w.at("transformer.wpe.weight").narrow(0, 0, tokens.size(0));
    for (std::int64_t layer = 0; layer < m.num_layers; ++layer) {
        const std::string at = "transformer.h." + std::to_string(layer) + ".";
        const Tensor qkv = conv(at + "attn.c_attn", norm(at + "ln_1", x));
        std::vector<Tensor> heads;
        for (std::int64_t head = 0; head < m.num_heads; ++head) {
            const std::int64_t size = m.head_size();
            const auto of = [&](std::int64_t part) { return qkv.narrow(1, part * m.hidden_size + head * size, size); };
            heads.push_back(attend(of(0), of(1), of(2)));
        }
        x = x + conv(at + "attn.c_proj", torch::cat(heads, 1));
        x = x + conv(at + "mlp.c_proj", gelu(conv(at + "mlp.c_fc", norm(at + "ln_2", x))));
    }
    const Tensor& head = w.at(m.tied_head ? "transformer.wte.weight" : "lm_head.weight");
    return torch::matmul(norm("transformer.ln_f", x), head.transpose(0, 1));
}

// ----

TEST(Decoder, ParametersAreExactlyThoseThatThePlanCounts) {
    for (const std::string preset : {"llama-tiny", "gpt2-tiny"}) {
        Plan plan;
        plan.model = model_preset(preset).value();
        EXPECT_EQ(parameter_count(*make_decoder(plan, 1)), count_parameters(plan.model).total) << preset;
    }
    for (const std::string& preset : family_presets()) {
        Plan plan = small_plan(preset);
        for (const bool tied : {true, false}) {
            plan.model.tied_head = tied;
            EXPECT_EQ(parameter_count(*make_decoder(plan, 1)), count_parameters(plan.model).total) << preset;
        }
    }
    Plan biased = small_plan("llama-7b");
    biased.model.qkv_bias = biased.model.linear_bias = true;
    biased.model.head_dim = 6;
    EXPECT_EQ(parameter_count(*make_decoder(biased, 1)), count_parameters(biased.model).total);
}

TEST(Decoder, NamesAndShapesAreThoseOfTransformers) {
    // GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=32, n_head=4, n_inner=96, vocab_size=61, n_positions=24))
    Plan gpt2 = small_plan("gpt2");
    gpt2.model.num_layers = 1;
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& item : make_decoder(gpt2, 1)->named_parameters()) shapes[item.key()] = item.value().sizes().vec();
    const std::map<std::string, std::vector<std::int64_t>> gpt2_shapes{
        {"transformer.wte.weight", {61, 32}},
        {"transformer.wpe.weight", {24, 32}},
        {"transformer.h.0.ln_1.weight", {32}},
        {"transformer.h.0.ln_1.bias", {32}},
        {"transformer.h.0.attn.c_attn.weight", {32, 96}},
        {"transformer.h.0.attn.c_attn.bias", {96}},
        {"transformer.h.0.attn.c_proj.weight", {32, 32}},
        {"transformer.h.0.attn.c_proj.bias", {32}},
        {"transformer.h.0.ln_2.weight", {32}},
        {"transformer.h.0.ln_2.bias", {32}},
        {"transformer.h.0.mlp.c_fc.weight", {32, 96}},
        {"transformer.h.0.mlp.c_fc.bias", {96}},
        {"transformer.h.0.mlp.c_proj.weight", {96, 32}},
        {"transformer.h.0.mlp.c_proj.bias", {32}},
        {"transformer.ln_f.weight", {32}},
        {"transformer.ln_f.bias", {32}},
    };
    EXPECT_EQ(shapes, gpt2_shapes);

    // Qwen2ForCausalLM with 14 heads of 8 in 2 groups, tied head off
    Plan qwen2 = small_plan("qwen2.5-7b");
    qwen2.model.num_layers = 1;
    shapes.clear();
    for (const auto& item : make_decoder(qwen2, 1)->named_parameters()) shapes[item.key()] = item.value().sizes().vec();
    const std::map<std::string, std::vector<std::int64_t>> qwen2_shapes{
        {"model.embed_tokens.weight", {61, 112}},
        {"model.layers.0.self_attn.q_proj.weight", {112, 112}},
        {"model.layers.0.self_attn.q_proj.bias", {112}},
        {"model.layers.0.self_attn.k_proj.weight", {16, 112}},
        {"model.layers.0.self_attn.k_proj.bias", {16}},
        {"model.layers.0.self_attn.v_proj.weight", {16, 112}},
        {"model.layers.0.self_attn.v_proj.bias", {16}},
        {"model.layers.0.self_attn.o_proj.weight", {112, 112}},
        {"model.layers.0.mlp.gate_proj.weight", {336, 112}},
        {"model.layers.0.mlp.up_proj.weight", {336, 112}},
        {"model.layers.0.mlp.down_proj.weight", {112, 336}},
        {"model.layers.0.input_layernorm.weight", {112}},
        {"model.layers.0.post_attention_layernorm.weight", {112}},
        {"model.norm.weight", {112}},
        {"lm_head.weight", {61, 112}},
    };
    EXPECT_EQ(shapes, qwen2_shapes);
}

TEST(Decoder, LogitsEqualThePlainlyWrittenArchitecture) {
    for (const std::string& preset : family_presets()) {
        for (const Attention attention : {Attention::Eager, Attention::Flash}) {
            Plan plan = small_plan(preset);
            plan.numerics.attention = attention;
            const auto model = make_decoder(plan, 3);
            model->to(torch::kDouble);
            const Tensor tokens = random_tokens(plan, 1, 13);
            const torch::NoGradGuard no_grad;
            // Norm weights and biases away from 1 and 0, where they could be left out unnoticed.
            torch::manual_seed(5);
            for (Tensor& parameter : model->parameters()) {
                if (parameter.dim() == 1) parameter.add_(0.3 * torch::randn_like(parameter));
            }
            const Weights weights = weights_of(*model);
            const Tensor expected = plan.model.family == Family::Gpt2 ? plain_gpt2(plan.model, weights, tokens[0])
                                                                      : plain_llama(plan.model, weights, tokens[0]);
            // Rotary tables are fp32, hence the tolerance; logits are of order 1.
            EXPECT_LT(largest_difference(model->forward(tokens)[0], expected), 1e-5) << preset;
        }
    }
}

/// Names of the nodes that a backward pass from here would run.
std::set<std::string> backward_nodes(const Tensor& output) {
    std::set<std::string> names;
    std::vector<std::shared_ptr<torch::autograd::Node>> open{output.grad_fn()};
    std::set<torch::autograd::Node*> seen;
    while (!open.empty()) {
        const auto node = open.back();
        open.pop_back();
        if (!node || !seen.insert(node.get()).second) continue;
        names.insert(node->name());
        for (const auto& edge : node->next_edges()) open.push_back(edge.function);
    }
    return names;
}

TEST(Decoder, FlashAttentionKeepsNoScoreMatrix) {
    using testing::Contains;
    using testing::Not;
    for (const std::string& preset : family_presets()) {  // two of them with grouped heads
        for (const Dtype dtype : {Dtype::Fp32, Dtype::Bf16}) {
            Plan plan = small_plan(preset);
            plan.numerics.dtype = dtype;
            const Tensor tokens = random_tokens(plan, 2, 12);
            const auto flash = backward_nodes(make_decoder(plan, 3)->forward(tokens));
            EXPECT_THAT(flash, Contains("ScaledDotProductFlashAttentionForCpuBackward0")) << preset;
            EXPECT_THAT(flash, Not(Contains("SoftmaxBackward0"))) << preset;
            EXPECT_THAT(flash, Not(Contains("ExpandBackward0"))) << preset;
            plan.numerics.attention = Attention::Eager;
            EXPECT_THAT(backward_nodes(make_decoder(plan, 3)->forward(tokens)), Contains("SoftmaxBackward0"));
        }
    }
}

TEST(Decoder, GradientsEqualFiniteDifferences) {
    for (const std::string& preset : family_presets()) {
        Plan plan = small_plan(preset);
        plan.model.num_layers = 1;
        const auto model = make_decoder(plan, 3);
        model->to(torch::kDouble);
        const Tensor tokens = random_tokens(plan, 2, 9), targets = random_tokens(plan, 2, 9, 8);
        const Weights analytic = gradients(*model, tokens, targets);
        const torch::NoGradGuard no_grad;
        torch::manual_seed(1);
        for (const auto& item : model->named_parameters()) {
            Tensor parameter = item.value();
            const Tensor direction = torch::randn_like(parameter);
            const double h = 1e-5;
            const auto loss_at = [&](double distance) {
                parameter.add_(direction, distance);
                const double loss = language_model_loss(model->forward(tokens), targets).item<double>();
                parameter.add_(direction, -distance);
                return loss;
            };
            const double numeric = (loss_at(h) - loss_at(-h)) / (2 * h);
            const double exact = (analytic.at(item.key()) * direction).sum().item<double>();
            EXPECT_NEAR(exact, numeric, 1e-7 + 1e-6 * std::abs(numeric)) << preset << " " << item.key();
        }
    }
}

TEST(Decoder, LaterTokensDoNotChangeEarlierLogits) {
    for (const std::string& preset : family_presets()) {
        for (const Attention attention : {Attention::Eager, Attention::Flash}) {
            Plan plan = small_plan(preset);
            plan.numerics.attention = attention;
            const auto model = make_decoder(plan, 3);
            const Tensor tokens = random_tokens(plan, 2, 12);
            Tensor changed = tokens.clone();
            changed.narrow(1, 7, 5).add_(1).remainder_(plan.model.vocab_size);
            const torch::NoGradGuard no_grad;
            const Tensor before = model->forward(tokens), after = model->forward(changed);
            EXPECT_LT(largest_difference(before.narrow(1, 0, 7), after.narrow(1, 0, 7)), 1e-6) << preset;
            EXPECT_GT(largest_difference(before.narrow(1, 7, 5), after.narrow(1, 7, 5)), 1e-3) << preset;
        }
    }
}

TEST(Decoder, HalfPrecisionStaysNearSinglePrecision) {
    for (const std::string& preset : family_presets()) {
        Plan plan = small_plan(preset);
        plan.model.init_std = 0.02;
        const Tensor tokens = random_tokens(plan, 2, 12), targets = random_tokens(plan, 2, 12, 8);
        const auto wide = make_decoder(plan, 3);
        const Weights expected = gradients(*wide, tokens, targets);
        for (const auto& [dtype, scalar, epsilon] : {std::tuple{Dtype::Bf16, torch::kBFloat16, 1.0 / 128},
                                                     std::tuple{Dtype::Fp16, torch::kHalf, 1.0 / 1024}}) {
            plan.numerics.dtype = dtype;
            const auto half = make_decoder(plan, 3);
            EXPECT_EQ(half->forward(tokens).scalar_type(), scalar);
            for (const auto& [name, gradient] : gradients(*half, tokens, targets)) {
                EXPECT_EQ(gradient.scalar_type(), scalar);
                const double error = (gradient.to(torch::kFloat) - expected.at(name)).norm().item<double>();
                EXPECT_LT(error, 8 * epsilon * expected.at(name).norm().item<double>() + 1e-6) << preset << name;
            }
        }
    }
}

TEST(Decoder, SaysHowLongASequenceItTakes) {
    EXPECT_EQ(make_decoder(small_plan("gpt2"), 1)->max_time(), 24);
    EXPECT_GT(make_decoder(small_plan("llama-7b"), 1)->max_time(), 1'000'000);  // rotary positions have no end
}

TEST(Decoder, RefusesWhatItCannotBuild) {
    Plan plan;
    plan.model = model_preset("t5-11b").value();
    EXPECT_THROW(make_decoder(plan, 1), std::invalid_argument);
}

TEST(Decoder, EachParameterHasItsLayer) {
    EXPECT_EQ(Decoder::layer_of("model.embed_tokens.weight"), "embed");
    EXPECT_EQ(Decoder::layer_of("transformer.wte.weight"), "embed");
    EXPECT_EQ(Decoder::layer_of("transformer.wpe.weight"), "embed");
    EXPECT_EQ(Decoder::layer_of("model.layers.0.self_attn.q_proj.weight"), "0");
    EXPECT_EQ(Decoder::layer_of("model.layers.31.mlp.up_proj.weight"), "31");
    EXPECT_EQ(Decoder::layer_of("model.layers.3"), "3");
    EXPECT_EQ(Decoder::layer_of("transformer.h.11.ln_1.bias"), "11");
    EXPECT_EQ(Decoder::layer_of("model.norm.weight"), "head");
    EXPECT_EQ(Decoder::layer_of("transformer.ln_f.weight"), "head");
    EXPECT_EQ(Decoder::layer_of("lm_head.weight"), "head");
}

TEST(Loss, IsMeanNegativeLogProbability) {
    const Tensor logits = torch::tensor({{{1.0F, 2.0F, 3.0F}, {0.0F, 0.0F, 0.0F}}});
    const Tensor targets = torch::tensor({{2, 0}}, torch::kLong);
    const double first = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)) - 3;
    EXPECT_NEAR(language_model_loss(logits, targets).item<double>(), (first + std::log(3.0)) / 2, 1e-6);
}

TEST(Loss, OfHalfPrecisionLogitsIsTakenInSinglePrecision) {
    for (const auto dtype : {torch::kBFloat16, torch::kHalf}) {
        const Tensor loss =
            language_model_loss(torch::zeros({4, 64, 50257}, dtype), torch::zeros({4, 64}, torch::kLong));
        EXPECT_EQ(loss.scalar_type(), torch::kFloat);
        EXPECT_NEAR(loss.item<double>(), std::log(50257.0), 1e-5);  // bf16 would give 10.8125
    }
}

}  // namespace
}  // namespace plimsoll::engine
