// SPDX-License-Identifier: Apache-2.0
// The GPT-2 architecture (Radford 2019).
#include "core/engine/layers/tensor_parallel.h"
#include "core/engine/model/families.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;

class Gpt2Attention : public torch::nn::Module {
public:
    explicit Gpt2Attention(const ModelContext& context) : context_(context), head_(context.plan->model.head_size()) {
        const Model& m = context.plan->model;
        Linear::Shape in{.in = m.hidden_size, .out = 3 * m.hidden_size, .bias = true, .transposed = true};
        in.split = MatrixSplit::Columns;
        in.fused = 3;
        Linear::Shape out{.in = m.hidden_size, .out = m.hidden_size, .bias = true, .transposed = true};
        out.split = MatrixSplit::Rows;
        in = with_adapter(in, *context.plan, "attn.c_attn");
        out = with_adapter(out, *context.plan, "attn.c_proj");
        qkv_ = register_module("c_attn", std::make_shared<Linear>(in, context));
        out_ = register_module("c_proj", std::make_shared<Linear>(out, context));
        if (!m.qk_norm) return;
        q_norm_ = register_module("q_norm", std::make_shared<RmsNorm>(head_, m.norm_eps, context, /*per_head=*/true));
        k_norm_ = register_module("k_norm", std::make_shared<RmsNorm>(head_, m.norm_eps, context, /*per_head=*/true));
    }

    Tensor forward(const Tensor& x, const LayerInput& input, Replay* replay) const {
        const Tensor all = qkv_->forward(enter_tensor_parallel(x, context_), leaves_out(replay));
        const std::int64_t width = all.size(2) / 3;
        const std::vector<Tensor> flat = all.split(width, -1);
        std::vector<Tensor> qkv;
        for (const Tensor& part : flat) {
            const Tensor heads = part.view({all.size(0), all.size(1), width / head_, head_});
            const RmsNorm* const norm = qkv.empty() ? q_norm_.get() : qkv.size() == 1 ? k_norm_.get() : nullptr;
            qkv.push_back(replayed(norm != nullptr ? norm->forward(heads) : heads, replay));
        }
        return out_->forward(attend(qkv[0], qkv[1], qkv[2], input, context_, is_training(), replay),
                             leaves_out(replay));
    }

private:
    ModelContext context_;
    std::int64_t head_;
    std::shared_ptr<Linear> qkv_, out_;
    std::shared_ptr<RmsNorm> q_norm_, k_norm_;  ///< null: none
};

class Gpt2Mlp : public torch::nn::Module {
public:
    explicit Gpt2Mlp(const ModelContext& context)
        : context_(context), relu_(context.plan->model.activation == Activation::Relu) {
        const Model& m = context.plan->model;
        Linear::Shape up{.in = m.hidden_size, .out = m.ffn_hidden_size, .bias = true, .transposed = true};
        up.split = MatrixSplit::Columns;
        Linear::Shape down{.in = m.ffn_hidden_size, .out = m.hidden_size, .bias = true, .transposed = true};
        down.split = MatrixSplit::Rows;
        up = with_adapter(up, *context.plan, "mlp.c_fc");
        down = with_adapter(down, *context.plan, "mlp.c_proj");
        up_ = register_module("c_fc", std::make_shared<Linear>(up, context));
        down_ = register_module("c_proj", std::make_shared<Linear>(down, context));
    }

    Tensor forward(const Tensor& x, Replay* replay) const {
        const Tensor y = up_->forward(enter_tensor_parallel(x, context_));
        // GPT-2's "gelu_new" is the tanh form.
        return down_->forward(relu_ ? at::relu(y) : at::gelu(y, "tanh"), leaves_out(replay));
    }

private:
    ModelContext context_;
    bool relu_;
    std::shared_ptr<Linear> up_, down_;
};

class Gpt2Layer final : public DecoderLayer {
public:
    explicit Gpt2Layer(const ModelContext& context) : context_(context), dropout_(context.plan->model.dropout) {
        const Model& m = context.plan->model;
        const auto norm = [&](const char* name) {
            const auto made = register_module(name, std::make_shared<LayerNorm>(m.hidden_size, m.norm_eps, context));
            return [made](const Tensor& x) { return made->forward(x); };
        };
        const bool behind = m.norm_placement != NormPlacement::Pre;
        const bool before = !behind || m.norm_placement == NormPlacement::Sandwich;
        if (before) attention_norms_.before = norm("ln_1");
        attention_ = register_module("attn", std::make_shared<Gpt2Attention>(context));
        if (behind) attention_norms_.behind = norm("ln_1_output");
        if (before) mlp_norms_.before = norm("ln_2");
        mlp_ = register_module("mlp", std::make_shared<Gpt2Mlp>(context));
        if (behind) mlp_norms_.behind = norm("ln_2_output");
    }

    WithSideLoss forward(const Tensor& x, const LayerInput& input) const override {
        const double p = is_training() ? dropout_ : 0;
        const auto drop = [p, input](const Tensor& branch, DropoutSite site) {
            return dropout(branch, p, input.key, site, input.places, input.whole);
        };
        const Branch attend = [attention = attention_, input, drop](const Tensor& in, Replay* replay) {
            return WithSideLoss{drop(attention->forward(in, input, replay), DropoutSite::AttentionOutput)};
        };
        const Branch feed = [mlp = mlp_, drop](const Tensor& in, Replay* replay) {
            return WithSideLoss{drop(mlp->forward(in, replay), DropoutSite::MlpOutput)};
        };
        const WithSideLoss attended = residual(x, attend, attention_norms_, context_, is_training());
        return residual(attended.x, feed, mlp_norms_, context_, is_training());
    }

private:
    ModelContext context_;
    double dropout_;
    SublayerNorms attention_norms_, mlp_norms_;
    std::shared_ptr<Gpt2Attention> attention_;
    std::shared_ptr<Gpt2Mlp> mlp_;
};

}  // namespace

std::shared_ptr<DecoderLayer> make_gpt2_layer(const ModelContext& context) {
    return std::make_shared<Gpt2Layer>(context);
}

}  // namespace plimsoll::engine
