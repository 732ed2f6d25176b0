// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decoder.h"

#include <limits>
#include <stdexcept>

#include "core/engine/families.h"
#include "core/engine/init.h"

namespace plimsoll::engine {

namespace {

torch::ScalarType scalar_type(Dtype dtype) {
    switch (dtype) {
        case Dtype::Bf16:
            return torch::kBFloat16;
        case Dtype::Fp16:
            return torch::kHalf;
        case Dtype::Fp32:
            break;
    }
    return torch::kFloat;
}

std::shared_ptr<Decoder> build(const Plan& plan) {
    const Model& model = plan.model;
    if (!model.moe()) {
        if (model.family == Family::Gpt2) return make_gpt2(plan);
        const bool llama_like =
            model.family == Family::Llama || model.family == Family::Mistral || model.family == Family::Qwen2;
        if (llama_like) return make_llama(plan);
    }
    throw std::invalid_argument("only dense gpt2, llama, mistral and qwen2 models can be trained");
}

}  // namespace

Decoder::Decoder(const Plan& plan)
    : max_time_(plan.model.position == Position::Learned ? plan.model.max_position
                                                         : std::numeric_limits<std::int64_t>::max()),
      vocab_size_(plan.model.vocab_size) {}

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

std::shared_ptr<Decoder> make_decoder(const Plan& plan, std::uint64_t seed) {
    std::shared_ptr<Decoder> decoder = build(plan);
    initialize(*decoder, plan.model, seed);
    decoder->to(scalar_type(plan.numerics.dtype));
    return decoder;
}

torch::Tensor language_model_loss(const torch::Tensor& logits, const torch::Tensor& targets) {
    const torch::Tensor wide = logits.scalar_type() == torch::kDouble ? logits : logits.to(torch::kFloat);
    return at::cross_entropy_loss(wide.reshape({-1, wide.size(-1)}), targets.reshape({-1}));
}

}  // namespace plimsoll::engine
