// SPDX-License-Identifier: Apache-2.0
// GPT-2-style and LLaMA-style decoders as torch modules whose parameter names are Hugging Face's.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Decoder-only transformer of families gpt2, llama, mistral and qwen2 (dense). Parameter names and shapes are those
/// of transformers' state_dict (GPT-2's Conv1D weights are [in, out]), so checkpoints load with from_pretrained.
class Decoder : public torch::nn::Module {
public:
    virtual ~Decoder() = default;
    /// tokens [batch, time] int64 -> logits [batch, time, vocab] in the weights' dtype.
    virtual torch::Tensor forward(const torch::Tensor& tokens) = 0;
    /// "model.layers.3" -> the layer a parameter belongs to for per-layer norms: "embed", "0".."L-1", "head".
    static std::string layer_of(const std::string& parameter_name);
};

/// Built on the CPU in fp32 with initial weights from `seed` (each parameter has its own stream, so the weights do not
/// depend on the layout), then cast to the plan's dtype. Recomputation: none; selective (attention core); full (each
/// layer). Dropout masks replay exactly under recomputation.
std::shared_ptr<Decoder> make_decoder(const Plan& plan, std::uint64_t seed);

/// Mean cross-entropy in fp32 over all positions. logits [batch, time, vocab], targets [batch, time].
torch::Tensor language_model_loss(const torch::Tensor& logits, const torch::Tensor& targets);

}  // namespace plimsoll::engine
