// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/generate.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace plimsoll::engine {

namespace {

/// The next token from the logits behind the last one; nothing when none of them is a number.
std::optional<std::int64_t> draw(torch::Tensor logits, std::int64_t tokens, double temperature,
                                 at::Generator& generator) {
    logits = logits.narrow(0, 0, std::min(tokens, logits.size(0))).cpu().to(torch::kDouble);
    logits = logits.nan_to_num(-std::numeric_limits<double>::infinity());
    const torch::Tensor best = logits.max();
    if (!std::isfinite(best.item<double>())) return std::nullopt;
    if (temperature <= 0) return logits.argmax().item<std::int64_t>();
    const torch::Tensor probabilities = at::softmax((logits - best) / temperature, 0);
    return at::multinomial(probabilities, 1, false, generator).item<std::int64_t>();
}

}  // namespace

std::string generate(const NextLogits& logits, const TextCodec& codec, const std::string& prompt, std::int64_t length,
                     double temperature, std::uint64_t seed, std::int64_t max_context,
                     const std::function<bool()>& stop) {
    const torch::NoGradGuard no_grad;
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    const std::int64_t limit = std::max<std::int64_t>(1, max_context);

    std::vector<std::int64_t> tokens = codec.encode(prompt);
    const std::size_t begin = tokens.size();
    for (std::int64_t i = 0; i < length; ++i) {
        if (stop && stop()) break;
        const auto context = std::min<std::int64_t>(limit, static_cast<std::int64_t>(tokens.size()));
        const auto seen = at::ArrayRef<std::int64_t>(tokens).slice(tokens.size() - static_cast<std::size_t>(context));
        const torch::Tensor behind = logits(torch::tensor(seen).unsqueeze(0));
        if (!behind.defined()) break;
        const auto next = draw(behind, codec.tokens(), temperature, generator);
        if (!next) break;
        tokens.push_back(*next);
    }
    return codec.continued(prompt, std::span(tokens).subspan(begin));
}

}  // namespace plimsoll::engine
