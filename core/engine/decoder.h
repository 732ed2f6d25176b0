// SPDX-License-Identifier: Apache-2.0
// GPT-2-style and LLaMA-style decoders as torch modules whose parameter names are Hugging Face's.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>

#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Decoder-only transformer of families gpt2, llama, mistral and qwen2 (dense). Parameter names and shapes are those
/// of transformers' state_dict (GPT-2's Conv1D weights are [in, out]), so checkpoints load with from_pretrained.
/// A tied head is no parameter of its own. In train() mode dropout and recomputation are on, in eval() mode off.
class Decoder : public torch::nn::Module {
public:
    explicit Decoder(const Plan& plan);
    virtual ~Decoder() = default;

    /// tokens [batch, time] int64, each below the vocabulary's size, time at most max_time() -> logits
    /// [batch, time, vocab] in the weights' dtype.
    virtual torch::Tensor forward(const torch::Tensor& tokens) = 0;

    /// Longest sequence that forward() takes: the learned positions, or no limit for rotary ones.
    std::int64_t max_time() const { return max_time_; }
    std::int64_t vocab_size() const { return vocab_size_; }

    /// "model.layers.3" -> the layer a parameter belongs to for per-layer norms: "embed", "0".."L-1", "head".
    static std::string layer_of(const std::string& parameter_name);

private:
    std::int64_t max_time_;
    std::int64_t vocab_size_;
};

/// Built on the CPU in fp32 with initial weights from `seed` (each parameter has its own stream, so the weights do not
/// depend on the layout), then cast to the plan's dtype. Recomputation: none; selective (attention core); full (each
/// layer). Dropout masks replay exactly under recomputation; they come from torch's default generator.
/// The plan has passed require_trainable() (dense decoders only); throws std::invalid_argument for other models and
/// c10::Error where memory runs out.
std::shared_ptr<Decoder> make_decoder(const Plan& plan, std::uint64_t seed);

/// Mean cross-entropy over all positions, in fp32 (fp64 logits: in fp64). logits [batch, time, vocab], targets
/// [batch, time].
torch::Tensor language_model_loss(const torch::Tensor& logits, const torch::Tensor& targets);

}  // namespace plimsoll::engine
