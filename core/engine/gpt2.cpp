// SPDX-License-Identifier: Apache-2.0
// The GPT-2 architecture (Radford 2019).
#include "core/engine/attention.h"
#include "core/engine/families.h"
#include "core/engine/layers.h"
#include "core/engine/recompute.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;

class Gpt2Attention : public torch::nn::Module {
public:
    explicit Gpt2Attention(const Plan& plan)
        : heads_(plan.model.num_heads),
          kind_(plan.numerics.attention),
          dropout_(plan.model.dropout),
          selective_(plan.layout.recompute == Recompute::Selective),
          qkv_(register_module("c_attn", std::make_shared<Conv1d>(plan.model.hidden_size, 3 * plan.model.hidden_size))),
          out_(register_module("c_proj", std::make_shared<Conv1d>(plan.model.hidden_size, plan.model.hidden_size))) {}

    Tensor forward(const Tensor& x) const {
        const std::int64_t width = x.size(2);
        const std::vector<Tensor> flat = qkv_->forward(x).split(width, -1);
        std::vector<Tensor> qkv;
        for (const Tensor& part : flat) qkv.push_back(part.view({x.size(0), x.size(1), heads_, width / heads_}));
        const double p = is_training() ? dropout_ : 0;
        const auto core = [kind = kind_, p](const std::vector<Tensor>& in) {
            return causal_attention(in[0], in[1], in[2], kind, p);
        };
        const bool again = selective_ && is_training() && torch::GradMode::is_enabled();
        return out_->forward(again ? recompute(core, qkv, p > 0) : core(qkv));
    }

private:
    std::int64_t heads_;
    Attention kind_;
    double dropout_;
    bool selective_;
    std::shared_ptr<Conv1d> qkv_, out_;
};

class Gpt2Mlp : public torch::nn::Module {
public:
    explicit Gpt2Mlp(const Model& m)
        : relu_(m.activation == Activation::Relu),
          up_(register_module("c_fc", std::make_shared<Conv1d>(m.hidden_size, m.ffn_hidden_size))),
          down_(register_module("c_proj", std::make_shared<Conv1d>(m.ffn_hidden_size, m.hidden_size))) {}

    Tensor forward(const Tensor& x) const {
        const Tensor y = up_->forward(x);
        // GPT-2's "gelu_new" is the tanh form.
        return down_->forward(relu_ ? at::relu(y) : at::gelu(y, "tanh"));
    }

private:
    bool relu_;
    std::shared_ptr<Conv1d> up_, down_;
};

class Gpt2Layer : public torch::nn::Module {
public:
    explicit Gpt2Layer(const Plan& plan)
        : dropout_(plan.model.dropout),
          attention_norm_(register_module("ln_1", norm(plan.model))),
          attention_(register_module("attn", std::make_shared<Gpt2Attention>(plan))),
          mlp_norm_(register_module("ln_2", norm(plan.model))),
          mlp_(register_module("mlp", std::make_shared<Gpt2Mlp>(plan.model))) {}

    static std::shared_ptr<LayerNorm> norm(const Model& m) {
        return std::make_shared<LayerNorm>(m.hidden_size, m.norm_eps);
    }

    Tensor forward(const Tensor& x) const {
        const double p = is_training() ? dropout_ : 0;
        const Tensor y = x + dropout(attention_->forward(attention_norm_->forward(x)), p);
        return y + dropout(mlp_->forward(mlp_norm_->forward(y)), p);
    }

private:
    double dropout_;
    std::shared_ptr<LayerNorm> attention_norm_;
    std::shared_ptr<Gpt2Attention> attention_;
    std::shared_ptr<LayerNorm> mlp_norm_;
    std::shared_ptr<Gpt2Mlp> mlp_;
};

class Gpt2Decoder : public Decoder {
public:
    explicit Gpt2Decoder(const Plan& plan)
        : Decoder(plan), dropout_(plan.model.dropout), full_(plan.layout.recompute == Recompute::Full) {
        const Model& m = plan.model;
        const auto body = register_module("transformer", std::make_shared<torch::nn::Module>());
        tokens_ = body->register_module("wte", std::make_shared<Embedding>(m.vocab_size, m.hidden_size));
        positions_ = body->register_module("wpe", std::make_shared<Embedding>(m.max_position, m.hidden_size));
        const auto layers = body->register_module("h", std::make_shared<torch::nn::Module>());
        for (std::int64_t i = 0; i < m.num_layers; ++i) {
            layers_.push_back(layers->register_module(std::to_string(i), std::make_shared<Gpt2Layer>(plan)));
        }
        norm_ = body->register_module("ln_f", Gpt2Layer::norm(m));
        if (!m.tied_head) {
            head_ = register_module("lm_head", std::make_shared<Linear>(m.hidden_size, m.vocab_size, false));
        }
    }

    Tensor forward(const Tensor& tokens) override {
        const double p = is_training() ? dropout_ : 0;
        const bool again = full_ && is_training() && torch::GradMode::is_enabled();
        const Tensor places = at::arange(tokens.size(1), tokens.options());
        Tensor x = dropout(tokens_->forward(tokens) + positions_->forward(places), p);
        for (const auto& layer : layers_) {
            const auto body = [layer](const std::vector<Tensor>& in) { return layer->forward(in[0]); };
            x = again ? recompute(body, {x}, p > 0) : body({x});
        }
        x = norm_->forward(x);
        return head_ ? head_->forward(x) : at::linear(x, tokens_->weight());
    }

private:
    double dropout_;
    bool full_;
    std::shared_ptr<Embedding> tokens_, positions_;
    std::vector<std::shared_ptr<Gpt2Layer>> layers_;
    std::shared_ptr<LayerNorm> norm_;
    std::shared_ptr<Linear> head_;  ///< null: tied to the embedding
};

}  // namespace

std::shared_ptr<Decoder> make_gpt2(const Plan& plan) { return std::make_shared<Gpt2Decoder>(plan); }

}  // namespace plimsoll::engine
