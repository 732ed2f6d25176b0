// SPDX-License-Identifier: Apache-2.0
// The LLaMA architecture (Touvron 2023) and its kin: Mistral, Qwen2 with biases on q, k and v, Mixtral with routed
// experts.
#include "core/engine/families.h"
#include "core/engine/moe.h"
#include "core/engine/tensor_parallel.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;

class LlamaAttention : public torch::nn::Module {
public:
    explicit LlamaAttention(const ModelContext& context) : context_(context), head_(context.plan->model.head_size()) {
        const Model& m = context.plan->model;
        const auto projection = [&](const char* name, std::int64_t heads) {
            Linear::Shape shape{.in = m.hidden_size, .out = heads * head_, .bias = m.qkv_bias};
            shape.split = MatrixSplit::Columns;
            // Fewer heads than ranks: neighbours hold the same one.
            if (heads < context.tp()) shape.shared_by = context.tp() / heads;
            return register_module(name, std::make_shared<Linear>(shape, context));
        };
        q_ = projection("q_proj", m.num_heads);
        k_ = projection("k_proj", m.num_kv_heads);
        v_ = projection("v_proj", m.num_kv_heads);
        Linear::Shape out{.in = m.num_heads * head_, .out = m.hidden_size, .bias = m.linear_bias};
        out.split = MatrixSplit::Rows;
        o_ = register_module("o_proj", std::make_shared<Linear>(out, context));
    }

    Tensor forward(const Tensor& x, const LayerInput& input, Replay* replay) const {
        const Tensor entered = enter_tensor_parallel(x, context_);
        const auto heads = [&](const Linear& projection) {
            const Tensor y = projection.forward(entered, leaves_out(replay));
            return y.view({y.size(0), y.size(1), y.size(2) / head_, head_});
        };
        const Tensor q = replayed(Rotary::turn(heads(*q_), input.rotary), replay);
        const Tensor k = replayed(Rotary::turn(heads(*k_), input.rotary), replay);
        const Tensor v = replayed(heads(*v_), replay);
        return o_->forward(attend(q, k, v, input, context_, is_training(), replay), leaves_out(replay));
    }

private:
    ModelContext context_;
    std::int64_t head_;
    std::shared_ptr<Linear> q_, k_, v_, o_;
};

class SwiGluMlp : public torch::nn::Module {
public:
    explicit SwiGluMlp(const ModelContext& context) : context_(context) {
        const Model& m = context.plan->model;
        Linear::Shape in{.in = m.hidden_size, .out = m.ffn_hidden_size, .bias = m.linear_bias};
        in.split = MatrixSplit::Columns;
        Linear::Shape out{.in = m.ffn_hidden_size, .out = m.hidden_size, .bias = m.linear_bias};
        out.split = MatrixSplit::Rows;
        gate_ = register_module("gate_proj", std::make_shared<Linear>(in, context));
        up_ = register_module("up_proj", std::make_shared<Linear>(in, context));
        down_ = register_module("down_proj", std::make_shared<Linear>(out, context));
    }

    Tensor forward(const Tensor& x, Replay* replay) const {
        const Tensor entered = enter_tensor_parallel(x, context_);
        return down_->forward(at::silu(gate_->forward(entered)) * up_->forward(entered), leaves_out(replay));
    }

private:
    ModelContext context_;
    std::shared_ptr<Linear> gate_, up_, down_;
};

class LlamaLayer final : public DecoderLayer {
public:
    explicit LlamaLayer(const ModelContext& context) : context_(context), dropout_(context.plan->model.dropout) {
        const Model& m = context.plan->model;
        const auto norm = [&] { return std::make_shared<RmsNorm>(m.hidden_size, m.norm_eps, context); };
        attention_ = register_module("self_attn", std::make_shared<LlamaAttention>(context));
        if (m.moe()) {
            experts_ = register_module("block_sparse_moe", std::make_shared<MoeMlp>(context));
        } else {
            mlp_ = register_module("mlp", std::make_shared<SwiGluMlp>(context));
        }
        attention_norm_ = register_module("input_layernorm", norm());
        mlp_norm_ = register_module("post_attention_layernorm", norm());
    }

    Tensor forward(const Tensor& x, const LayerInput& input) const override {
        const double p = is_training() ? dropout_ : 0;
        const auto drop = [p, input](const Tensor& branch, DropoutSite site) {
            return dropout(branch, p, input.key, site, input.places, input.whole);
        };
        const Branch attend = [attention = attention_, norm = attention_norm_, input, drop](const Tensor& in,
                                                                                            Replay* replay) {
            return drop(attention->forward(norm->forward(in), input, replay), DropoutSite::AttentionOutput);
        };
        const Branch feed = [mlp = mlp_, experts = experts_, norm = mlp_norm_, drop](const Tensor& residual_stream,
                                                                                     Replay* replay) {
            const Tensor in = norm->forward(residual_stream);
            return drop(mlp ? mlp->forward(in, replay) : experts->forward(in), DropoutSite::MlpOutput);
        };
        return residual(residual(x, attend, context_, is_training()), feed, context_, is_training());
    }

private:
    ModelContext context_;
    double dropout_;
    std::shared_ptr<LlamaAttention> attention_;
    std::shared_ptr<SwiGluMlp> mlp_;  ///< null: routed experts
    std::shared_ptr<MoeMlp> experts_;
    std::shared_ptr<RmsNorm> attention_norm_, mlp_norm_;
};

}  // namespace

std::shared_ptr<DecoderLayer> make_llama_layer(const ModelContext& context) {
    return std::make_shared<LlamaLayer>(context);
}

}  // namespace plimsoll::engine
