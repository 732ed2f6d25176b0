// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/generate.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace plimsoll::engine {

namespace {

/// A byte is a token.
constexpr std::int64_t byte_tokens = 256;

/// The next byte from the logits behind the last token; nothing when none of them is a number.
std::optional<std::uint8_t> draw(torch::Tensor logits, double temperature, at::Generator& generator) {
    logits = logits.narrow(0, 0, std::min(byte_tokens, logits.size(0))).cpu().to(torch::kDouble);
    logits = logits.nan_to_num(-std::numeric_limits<double>::infinity());
    const torch::Tensor best = logits.max();
    if (!std::isfinite(best.item<double>())) return std::nullopt;
    if (temperature <= 0) return static_cast<std::uint8_t>(logits.argmax().item<std::int64_t>());
    const torch::Tensor probabilities = at::softmax((logits - best) / temperature, 0);
    return static_cast<std::uint8_t>(at::multinomial(probabilities, 1, false, generator).item<std::int64_t>());
}

/// Length of the well-formed character at the front (0: none), by Unicode's table 3-7; `wrong` gets the length of the
/// longest start of one.
std::size_t character_length(std::string_view bytes, std::size_t& wrong) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned char first = byte(0);
    wrong = 1;
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    for (std::size_t i = 1; i < length; ++i) {
        const unsigned char low = i == 1 && first == 0xE0 ? 0xA0 : i == 1 && first == 0xF0 ? 0x90 : 0x80;
        const unsigned char high = i == 1 && first == 0xED ? 0x9F : i == 1 && first == 0xF4 ? 0x8F : 0xBF;
        if (i >= bytes.size() || byte(i) < low || byte(i) > high) return 0;
        wrong = i + 1;
    }
    return length;
}

}  // namespace

std::string repaired_utf8(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        std::size_t wrong = 1;
        const std::size_t length = character_length(bytes, wrong);
        text += length > 0 ? bytes.substr(0, length) : std::string_view("\xEF\xBF\xBD");
        bytes.remove_prefix(length > 0 ? length : wrong);
    }
    return text;
}

std::string generate(const NextLogits& logits, std::int64_t vocab_size, const std::string& prompt, std::int64_t length,
                     double temperature, std::uint64_t seed, std::int64_t max_context,
                     const std::function<bool()>& stop) {
    const torch::NoGradGuard no_grad;
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    const std::int64_t limit = std::max<std::int64_t>(1, max_context);

    const std::string start = prompt.empty() ? "\n" : prompt;
    std::vector<std::int64_t> tokens;
    for (const char c : start) {
        // A byte that a vocabulary below 256 lacks cannot be fed to the model.
        tokens.push_back(std::min<std::int64_t>(static_cast<unsigned char>(c), vocab_size - 1));
    }
    std::string continuation;
    for (std::int64_t i = 0; i < length; ++i) {
        if (stop && stop()) break;
        const auto context = std::min<std::int64_t>(limit, static_cast<std::int64_t>(tokens.size()));
        const auto seen = at::ArrayRef<std::int64_t>(tokens).slice(tokens.size() - static_cast<std::size_t>(context));
        const torch::Tensor behind = logits(torch::tensor(seen).unsqueeze(0));
        if (!behind.defined()) break;
        const auto next = draw(behind, temperature, generator);
        if (!next) break;
        tokens.push_back(*next);
        continuation += static_cast<char>(*next);
    }
    return repaired_utf8(prompt + continuation);
}

}  // namespace plimsoll::engine
