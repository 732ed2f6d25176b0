// SPDX-License-Identifier: Apache-2.0
// The LLaMA architecture (Touvron 2023) and its kin: Mistral, Qwen2 with biases on q, k and v, Mixtral with routed
// experts.
#include "core/engine/layers/moe.h"
#include "core/engine/layers/tensor_parallel.h"
#include "core/engine/model/families.h"

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
            // With fewer heads than ranks, neighbouring ranks hold the same head.
            if (heads < context.tp()) shape.shared_by = context.tp() / heads;
            shape = with_adapter(shape, *context.plan, std::string("self_attn.") + name);
            return register_module(name, std::make_shared<Linear>(shape, context));
        };
        q_ = projection("q_proj", m.num_heads);
        k_ = projection("k_proj", m.num_kv_heads);
        v_ = projection("v_proj", m.num_kv_heads);
        Linear::Shape out{.in = m.num_heads * head_, .out = m.hidden_size, .bias = m.linear_bias};
        out.split = MatrixSplit::Rows;
        out = with_adapter(out, *context.plan, "self_attn.o_proj");
        o_ = register_module("o_proj", std::make_shared<Linear>(out, context));
        if (!m.qk_norm) return;
        q_norm_ = register_module("q_norm", std::make_shared<RmsNorm>(head_, m.norm_eps, context, /*per_head=*/true));
        k_norm_ = register_module("k_norm", std::make_shared<RmsNorm>(head_, m.norm_eps, context, /*per_head=*/true));
    }

    Tensor forward(const Tensor& x, const LayerInput& input, Replay* replay) const {
        const Tensor entered = enter_tensor_parallel(x, context_);
        const auto heads = [&](const Linear& projection) {
            const Tensor y = projection.forward(entered, leaves_out(replay));
            return y.view({y.size(0), y.size(1), y.size(2) / head_, head_});
        };
        const auto placed = [&](const Linear& projection, const std::shared_ptr<RmsNorm>& norm) {
            const Tensor y = heads(projection);
            return replayed(Rotary::turn(norm ? norm->forward(y) : y, input.rotary), replay);
        };
        const Tensor q = placed(*q_, q_norm_);
        const Tensor k = placed(*k_, k_norm_);
        const Tensor v = replayed(heads(*v_), replay);
        return o_->forward(attend(q, k, v, input, context_, is_training(), replay), leaves_out(replay));
    }

private:
    ModelContext context_;
    std::int64_t head_;
    std::shared_ptr<Linear> q_, k_, v_, o_;
    std::shared_ptr<RmsNorm> q_norm_, k_norm_;  ///< null: none
};

class SwiGluMlp : public torch::nn::Module {
public:
    explicit SwiGluMlp(const ModelContext& context) : context_(context) {
        const Model& m = context.plan->model;
        Linear::Shape in{.in = m.hidden_size, .out = m.ffn_hidden_size, .bias = m.linear_bias};
        in.split = MatrixSplit::Columns;
        Linear::Shape out{.in = m.ffn_hidden_size, .out = m.hidden_size, .bias = m.linear_bias};
        out.split = MatrixSplit::Rows;
        const auto projection = [&](const char* name, const Linear::Shape& shape) {
            const Linear::Shape whole = with_adapter(shape, *context.plan, std::string("mlp.") + name);
            return register_module(name, std::make_shared<Linear>(whole, context));
        };
        gate_ = projection("gate_proj", in);
        up_ = projection("up_proj", in);
        down_ = projection("down_proj", out);
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
        const auto norm = [&](const char* name) {
            const auto made = register_module(name, std::make_shared<RmsNorm>(m.hidden_size, m.norm_eps, context));
            return [made](const Tensor& x) { return made->forward(x); };
        };
        attention_ = register_module("self_attn", std::make_shared<LlamaAttention>(context));
        if (m.moe()) {
            experts_ = register_module("block_sparse_moe", std::make_shared<MoeMlp>(context));
        } else {
            mlp_ = register_module("mlp", std::make_shared<SwiGluMlp>(context));
        }
        const bool behind = m.norm_placement != NormPlacement::Pre;
        if (!behind || m.norm_placement == NormPlacement::Sandwich) {
            attention_norms_.before = norm("input_layernorm");
            mlp_norms_.before = norm("post_attention_layernorm");  // transformers' name of the norm before the MLP
        }
        if (behind) {
            attention_norms_.behind = norm("attention_output_layernorm");
            mlp_norms_.behind = norm("mlp_output_layernorm");
        }
    }

    WithSideLoss forward(const Tensor& x, const LayerInput& input) const override {
        const double p = is_training() ? dropout_ : 0;
        const auto drop = [p, input](const Tensor& branch, DropoutSite site) {
            return dropout(branch, p, input.key, site, input.places, input.whole);
        };
        const Branch attend = [attention = attention_, input, drop](const Tensor& in, Replay* replay) {
            return WithSideLoss{drop(attention->forward(in, input, replay), DropoutSite::AttentionOutput)};
        };
        const Branch feed = [mlp = mlp_, experts = experts_, scale = input.side_loss_scale, drop](const Tensor& in,
                                                                                                  Replay* replay) {
            WithSideLoss y = mlp ? WithSideLoss{mlp->forward(in, replay)} : experts->forward(in, scale);
            y.x = drop(y.x, DropoutSite::MlpOutput);
            return y;
        };
        const WithSideLoss attended = residual(x, attend, attention_norms_, context_, is_training());
        return residual(attended.x, feed, mlp_norms_, context_, is_training());
    }

private:
    ModelContext context_;
    double dropout_;
    std::shared_ptr<LlamaAttention> attention_;
    std::shared_ptr<SwiGluMlp> mlp_;  ///< null: routed experts
    std::shared_ptr<MoeMlp> experts_;
    SublayerNorms attention_norms_, mlp_norms_;
};

}  // namespace

std::shared_ptr<DecoderLayer> make_llama_layer(const ModelContext& context) {
    return std::make_shared<LlamaLayer>(context);
}

}  // namespace plimsoll::engine
