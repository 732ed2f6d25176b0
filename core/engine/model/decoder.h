// SPDX-License-Identifier: Apache-2.0
// GPT-2-style and LLaMA-style decoders as torch modules whose parameter names are Hugging Face's.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "core/engine/layers/autocast.h"
#include "core/engine/model/families.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// The consecutive layers of a model that a decoder holds, and whether its ends are among them.
struct Stage {
    std::int64_t first_layer = 0;
    std::int64_t layers = 0;
    bool embedding = true;
    bool head = true;
};
/// All of it.
Stage whole_model(const Plan& plan);

/// Is told when the parameters of a unit (0 the embedding, 1 to L the layers, L + 1 the head) are about to be used
/// (enter) and are no longer needed (leave): ZeRO-3 gathers and frees the unit there. Both calls return x, perhaps with
/// a graph node that does the same in the backward pass.
class ParameterGate {
public:
    virtual ~ParameterGate() = default;
    virtual torch::Tensor enter(std::size_t unit, const torch::Tensor& x) = 0;
    virtual torch::Tensor leave(std::size_t unit, const torch::Tensor& x) = 0;
};

/// Decoder-only transformer of families gpt2, llama, mistral, mixtral and qwen2, or one pipeline stage of it, cut for
/// this rank of the mesh. Parameter names are those of transformers' state_dict, and so are the shapes of the whole
/// tensors (GPT-2's Conv1D weights are [in, out]): checkpoints load with from_pretrained. A tied head is no parameter
/// of its own; where another pipeline rank holds the embedding, the head is a copy of it (Shard::copy_of). In train()
/// mode dropout and recomputation are on, in eval() mode off.
class Decoder : public torch::nn::Module {
public:
    /// `embedding`: the embedding of another stage on the same rank, for a tied head; null otherwise.
    Decoder(const ModelContext& context, const Stage& stage, std::shared_ptr<Embedding> embedding = nullptr);

    /// Input: tokens [batch, time] int64 (each below the vocabulary's size) for a stage with the embedding, else the
    /// residual stream. With context parallelism the input holds the positions of context_positions(). Returns the
    /// residual stream [batch, time, hidden]; with sequence parallelism, this rank's part of the time dimension. The
    /// side loss is that of the routers, 0 outside training; its incoming gradient is `side_loss_scale`. A recomputed
    /// layer counts once.
    WithSideLoss body(const torch::Tensor& input, const DropoutKey& key, double side_loss_scale = 1);
    /// Mean cross-entropy over this rank's positions, in fp32 (fp64 weights: fp64), in loss_chunks pieces. targets
    /// [batch, time]. The side loss is the z-loss, a mean over the same positions.
    WithSideLoss loss(const torch::Tensor& residual, const torch::Tensor& targets);
    /// [batch, time, vocab] in the activations' dtype.
    torch::Tensor logits(const torch::Tensor& residual);
    /// Logits of tokens, with dropout from torch's default generator. Only for a decoder that holds the whole model.
    torch::Tensor forward(const torch::Tensor& tokens);

    /// Longest sequence that the decoder takes: the number of learned positions; rotary positions set no limit.
    std::int64_t max_time() const;
    std::int64_t vocab_size() const { return context_.plan->model.vocab_size; }
    const Stage& stage() const { return stage_; }
    const ModelContext& context() const { return context_; }
    const std::shared_ptr<Embedding>& embedding() const { return tokens_; }
    void set_gate(ParameterGate* gate) { gate_ = gate; }
    /// Whether a parameter does not train: with adapters (plan.adapter), every parameter but the adapters' own.
    static bool frozen(const Plan& plan, const std::string& parameter_name);
    /// Unit of a parameter, see ParameterGate.
    std::size_t unit_of(const std::string& parameter_name) const;
    std::size_t units() const { return layers_.size() + 2; }

    /// The layer that a parameter belongs to in per-layer norms: "embed", "0" to "L-1" or "head"; "model.layers.3.…"
    /// gives "3".
    static std::string layer_of(const std::string& parameter_name);

private:
    LayerInput layer_input(const torch::Tensor& x, const torch::Tensor& positions, const DropoutKey& key) const;
    bool recomputes(std::int64_t layer) const;
    torch::Tensor head_input(const torch::Tensor& residual);
    torch::Tensor local_logits(const torch::Tensor& normed) const;
    WithSideLoss loss_sum(const torch::Tensor& normed, const torch::Tensor& targets, std::int64_t tokens) const;
    /// Weight of the z-loss: the plan's in train() mode, 0 in eval() mode.
    double z_loss() const;
    torch::Tensor enter(std::size_t unit, const torch::Tensor& x) { return gate_ ? gate_->enter(unit, x) : x; }
    torch::Tensor leave(std::size_t unit, const torch::Tensor& x) { return gate_ ? gate_->leave(unit, x) : x; }

    ModelContext context_;
    Stage stage_;
    Rotary rotary_;
    ParameterGate* gate_ = nullptr;
    std::shared_ptr<Embedding> tokens_, positions_;  ///< null: none here
    std::vector<std::shared_ptr<DecoderLayer>> layers_;
    std::shared_ptr<LayerNorm> layer_norm_;
    std::shared_ptr<RmsNorm> rms_norm_;
    std::shared_ptr<Linear> head_;          ///< null: tied
    std::shared_ptr<Embedding> tied_head_;  ///< the embedding, or its copy
};

/// Built on the CPU in fp32 with initial weights from `seed` (each parameter has its own stream, so the weights do not
/// depend on the layout), then cast to the dtype in which the plan keeps weights; with ParameterMemory::later not initialized. The plan has
/// passed require_trainable(); throws std::invalid_argument for other models and c10::Error where memory runs out.
std::shared_ptr<Decoder> make_decoder(const ModelContext& context, const Stage& stage, std::uint64_t seed,
                                      std::shared_ptr<Embedding> embedding = nullptr);
/// The whole model on a rank that stands alone, whatever the plan's layout.
std::shared_ptr<Decoder> make_decoder(const Plan& plan, std::uint64_t seed);

/// Parameters by name. A tied parameter, which may be registered under two names, is listed once.
std::vector<std::pair<std::string, torch::Tensor>> parameters_of(const torch::nn::Module& module);

/// Mean cross-entropy over all positions, in fp32 (fp64 logits: in fp64). logits [batch, time, vocab], targets
/// [batch, time].
torch::Tensor language_model_loss(const torch::Tensor& logits, const torch::Tensor& targets);

}  // namespace plimsoll::engine
