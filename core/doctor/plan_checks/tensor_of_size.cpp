// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/plan_checks/tensor_of_size.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/estimate/activations.h"
#include "core/plan/parameters.h"

namespace plimsoll::doctor {

namespace {

/// The product, capped so that sizes of hostile plans fit into int64.
Bytes product(std::initializer_list<std::int64_t> factors) {
    double size = 1;
    for (const std::int64_t factor : factors) size *= static_cast<double>(std::max<std::int64_t>(factor, 0));
    return size < 9e18 ? static_cast<Bytes>(size) : 0;
}

}  // namespace

std::vector<TensorSize> tensor_sizes(const Plan& plan) {
    const Model& m = plan.model;
    const Layout& l = plan.layout;
    const std::int64_t e = bytes_of(plan.numerics.dtype), b = l.micro_batch;
    const std::int64_t s = plan.data.sequence_length / std::max<std::int64_t>(l.cp, 1);
    const std::int64_t t = std::max<std::int64_t>(l.tp, 1), f = m.ffn_hidden_size / t;
    const auto dtype = name_of(plan.numerics.dtype);
    const ParameterCounts count = count_parameters(m);
    const std::int64_t stage_layers = (m.num_layers + l.pp - 1) / std::max<std::int64_t>(l.pp, 1);
    const std::int64_t stage = count.layer / t * stage_layers + count.input_embedding / t;
    std::vector<TensorSize> all{
        {"the logits in fp32 (micro-batch x sequence x vocabulary)", product({4, b, s, m.vocab_size / t})},
        {fmt::format("the logits in {} (micro-batch x sequence x vocabulary)", dtype),
         product({e, b, s, m.vocab_size / t})},
        {"a layer's attention scores (micro-batch x heads x sequence x sequence)",
         product({e, b, m.num_heads / t, s, s})},
        {"an inner tensor of the MLP (micro-batch x sequence x FFN)", product({e, b, s, f})},
        {"a layer's hidden states (micro-batch x sequence x hidden)", product({e, b, s, m.hidden_size})},
        {fmt::format("a matrix of the MLP or its gradient in {}", dtype), product({e, m.hidden_size, f})},
        {"a matrix of the MLP in fp32 (master, moment or gradient)", product({4, m.hidden_size, f})},
        {fmt::format("the embedding table or its gradient in {}", dtype), product({e, count.input_embedding / t})},
        {"the embedding table in fp32 (master, moment or gradient)", product({4, count.input_embedding / t})},
        {"an optimizer state or the masters of all parameters of a rank in fp32", product({4, stage})},
        {"a gradient bucket", product({plan.training.bucket_mib, MiB})},
    };
    std::erase_if(all, [](const TensorSize& each) { return each.bytes <= 0; });
    std::stable_sort(all.begin(), all.end(),
                     [](const TensorSize& a, const TensorSize& b2) { return a.bytes > b2.bytes; });
    return all;
}

std::optional<TensorSize> tensor_of_size(const Plan& plan, Bytes bytes) {
    std::optional<TensorSize> nearest;
    double least = 0.01;
    for (const TensorSize& each : tensor_sizes(plan)) {
        const double off = std::abs(static_cast<double>(bytes) / static_cast<double>(each.bytes) - 1);
        if (off < least) {
            least = off;
            nearest = each;
        }
    }
    return nearest;
}

std::optional<Bytes> requested_bytes(const std::string& words) {
    constexpr std::string_view sign = "ried to allocate ";
    const auto at = words.find(sign);
    if (at == std::string::npos) return std::nullopt;
    const char* begin = words.c_str() + at + sign.size();
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    const std::string_view unit(end);
    const double scale = unit.starts_with(" byte")  ? 1
                         : unit.starts_with(" KiB") ? static_cast<double>(KiB)
                         : unit.starts_with(" MiB") ? static_cast<double>(MiB)
                         : unit.starts_with(" GiB") ? static_cast<double>(GiB)
                                                    : 0;
    if (end != begin && value > 0 && scale > 0 && value * scale < 9e18) return static_cast<Bytes>(value * scale);
    return std::nullopt;
}

}  // namespace plimsoll::doctor
