// SPDX-License-Identifier: Apache-2.0
// The LLaMA architecture (Touvron 2023) and its kin: Mistral, and Qwen2 with biases on q, k and v.
#include "core/engine/attention.h"
#include "core/engine/families.h"
#include "core/engine/layers.h"
#include "core/engine/recompute.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;

class LlamaAttention : public torch::nn::Module {
public:
    explicit LlamaAttention(const Plan& plan)
        : head_(plan.model.head_size()),
          kind_(plan.numerics.attention),
          dropout_(plan.model.dropout),
          selective_(plan.layout.recompute == Recompute::Selective) {
        const Model& m = plan.model;
        const auto projection = [&](const char* name, std::int64_t heads) {
            return register_module(name, std::make_shared<Linear>(m.hidden_size, heads * head_, m.qkv_bias));
        };
        q_ = projection("q_proj", m.num_heads);
        k_ = projection("k_proj", m.num_kv_heads);
        v_ = projection("v_proj", m.num_kv_heads);
        o_ = register_module("o_proj", std::make_shared<Linear>(m.num_heads * head_, m.hidden_size, m.linear_bias));
    }

    Tensor forward(const Tensor& x, const Rotary::Table& positions) const {
        const auto heads = [&](const Linear& projection) {
            const Tensor y = projection.forward(x);
            return y.view({y.size(0), y.size(1), y.size(2) / head_, head_});
        };
        const double p = is_training() ? dropout_ : 0;
        const auto core = [kind = kind_, p](const std::vector<Tensor>& qkv) {
            return causal_attention(qkv[0], qkv[1], qkv[2], kind, p);
        };
        const std::vector<Tensor> qkv{Rotary::turn(heads(*q_), positions), Rotary::turn(heads(*k_), positions),
                                      heads(*v_)};
        const bool again = selective_ && is_training() && torch::GradMode::is_enabled();
        return o_->forward(again ? recompute(core, qkv, p > 0) : core(qkv));
    }

private:
    std::int64_t head_;
    Attention kind_;
    double dropout_;
    bool selective_;
    std::shared_ptr<Linear> q_, k_, v_, o_;
};

class SwiGluMlp : public torch::nn::Module {
public:
    explicit SwiGluMlp(const Model& m)
        : gate_(
              register_module("gate_proj", std::make_shared<Linear>(m.hidden_size, m.ffn_hidden_size, m.linear_bias))),
          up_(register_module("up_proj", std::make_shared<Linear>(m.hidden_size, m.ffn_hidden_size, m.linear_bias))),
          down_(register_module("down_proj",
                                std::make_shared<Linear>(m.ffn_hidden_size, m.hidden_size, m.linear_bias))) {}

    Tensor forward(const Tensor& x) const { return down_->forward(at::silu(gate_->forward(x)) * up_->forward(x)); }

private:
    std::shared_ptr<Linear> gate_, up_, down_;
};

class LlamaLayer : public torch::nn::Module {
public:
    explicit LlamaLayer(const Plan& plan)
        : dropout_(plan.model.dropout),
          attention_(register_module("self_attn", std::make_shared<LlamaAttention>(plan))),
          mlp_(register_module("mlp", std::make_shared<SwiGluMlp>(plan.model))),
          attention_norm_(register_module("input_layernorm", norm(plan.model))),
          mlp_norm_(register_module("post_attention_layernorm", norm(plan.model))) {}

    static std::shared_ptr<RmsNorm> norm(const Model& m) {
        return std::make_shared<RmsNorm>(m.hidden_size, m.norm_eps);
    }

    Tensor forward(const Tensor& x, const Rotary::Table& positions) const {
        const double p = is_training() ? dropout_ : 0;
        const Tensor y = x + dropout(attention_->forward(attention_norm_->forward(x), positions), p);
        return y + dropout(mlp_->forward(mlp_norm_->forward(y)), p);
    }

private:
    double dropout_;
    std::shared_ptr<LlamaAttention> attention_;
    std::shared_ptr<SwiGluMlp> mlp_;
    std::shared_ptr<RmsNorm> attention_norm_, mlp_norm_;
};

class LlamaDecoder : public Decoder {
public:
    explicit LlamaDecoder(const Plan& plan)
        : Decoder(plan),
          dropout_(plan.model.dropout),
          full_(plan.layout.recompute == Recompute::Full),
          rotary_(plan.model.head_size(), plan.model.rope_theta) {
        const Model& m = plan.model;
        const auto body = register_module("model", std::make_shared<torch::nn::Module>());
        embedding_ = body->register_module("embed_tokens", std::make_shared<Embedding>(m.vocab_size, m.hidden_size));
        const auto layers = body->register_module("layers", std::make_shared<torch::nn::Module>());
        for (std::int64_t i = 0; i < m.num_layers; ++i) {
            layers_.push_back(layers->register_module(std::to_string(i), std::make_shared<LlamaLayer>(plan)));
        }
        norm_ = body->register_module("norm", LlamaLayer::norm(m));
        if (!m.tied_head) {
            head_ = register_module("lm_head", std::make_shared<Linear>(m.hidden_size, m.vocab_size, false));
        }
    }

    Tensor forward(const Tensor& tokens) override {
        const double p = is_training() ? dropout_ : 0;
        const bool again = full_ && is_training() && torch::GradMode::is_enabled();
        Tensor x = dropout(embedding_->forward(tokens), p);
        const Rotary::Table positions = rotary_.table(x.size(1), x);
        for (const auto& layer : layers_) {
            const auto body = [layer, positions](const std::vector<Tensor>& in) {
                return layer->forward(in[0], positions);
            };
            x = again ? recompute(body, {x}, p > 0) : body({x});
        }
        x = norm_->forward(x);
        return head_ ? head_->forward(x) : at::linear(x, embedding_->weight());
    }

private:
    double dropout_;
    bool full_;
    Rotary rotary_;
    std::shared_ptr<Embedding> embedding_;
    std::vector<std::shared_ptr<LlamaLayer>> layers_;
    std::shared_ptr<RmsNorm> norm_;
    std::shared_ptr<Linear> head_;  ///< null: tied to the embedding
};

}  // namespace

std::shared_ptr<Decoder> make_llama(const Plan& plan) { return std::make_shared<LlamaDecoder>(plan); }

}  // namespace plimsoll::engine
