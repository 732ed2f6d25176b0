// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/init.h"

#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>
#include <string_view>

#include "core/engine/base/mixed_bits.h"
#include "core/engine/base/shard.h"
#include "core/engine/model/decoder.h"

namespace plimsoll::engine {

namespace {

std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return mixed_bits(hash ^ mixed_bits(seed + 0x9E3779B97F4A7C15ULL));
}

/// In (0, 1].
float uniform(std::uint32_t bits) { return (static_cast<float>(bits >> 8) + 1) * 0x1p-24F; }

/// Normal numbers by Box and Muller's transform: a counter's four integers make four of them.
void fill_normal(torch::Tensor& tensor, float deviation, std::uint64_t key) {
    float* const out = tensor.data_ptr<float>();
    const std::int64_t count = tensor.numel();
    constexpr std::int64_t grain = 16384;
    at::parallel_for(0, (count + 3) / 4, grain, [&](std::int64_t begin, std::int64_t end) {
        at::Philox4_32 random(key, 0, static_cast<std::uint64_t>(begin));
        for (std::int64_t group = begin; group < end; ++group) {
            float normal[4];
            for (int pair = 0; pair < 4; pair += 2) {
                const float radius = deviation * std::sqrt(-2 * std::log(uniform(random())));
                const float angle = 2 * std::numbers::pi_v<float> * uniform(random());
                normal[pair] = radius * std::cos(angle);
                normal[pair + 1] = radius * std::sin(angle);
            }
            std::copy_n(normal, std::min<std::int64_t>(4, count - 4 * group), out + 4 * group);
        }
    });
}

/// Uniform in (-limit, limit].
void fill_uniform(torch::Tensor& tensor, float limit, std::uint64_t key) {
    float* const out = tensor.data_ptr<float>();
    const std::int64_t count = tensor.numel();
    at::Philox4_32 random(key, 0, 0);
    for (std::int64_t i = 0; i < count; ++i) out[i] = limit * (2 * uniform(random()) - 1);
}

bool writes_to_residual(std::string_view name) {
    return name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight") || name.ends_with("c_proj.weight") ||
           name.ends_with("w2.weight");
}

bool is_qkv(std::string_view name) {
    return name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight") || name.ends_with("v_proj.weight") ||
           name.ends_with("c_attn.weight");
}

double deviation(const std::string& name, const Model& model) {
    const double residual = 1 / std::sqrt(2.0 * static_cast<double>(model.num_layers));
    switch (model.init) {
        case Init::Plain:
            return model.init_std;
        case Init::Guide:
            if (Decoder::layer_of(name) == "head") return 0;
            return writes_to_residual(name) ? residual : is_qkv(name) ? 0.02 : model.init_std;
        case Init::Gpt2:
            break;
    }
    return model.init_std * (writes_to_residual(name) ? residual : 1);
}

double mup_deviation(const std::string& name, const Model& model) {
    const std::string layer = Decoder::layer_of(name);
    if (layer == "embed") return 1;
    return 1 / (layer == "head" ? model.width_factor() : std::sqrt(model.width_factor()));
}

/// Whether a parameter belongs neither to the embeddings nor to the head.
bool in_layer(const std::string& name) {
    const std::string layer = Decoder::layer_of(name);
    return layer != "embed" && layer != "head";
}

/// Scales a layer's matrix from normal(0, 1) numbers as DeepNorm does.
void scale_deepnorm(std::string_view name, const Model& model, torch::Tensor& whole) {
    const bool fused = name.ends_with("c_attn.weight");  // [in, q k v]
    const auto inputs = static_cast<double>(whole.size(1)), outputs = static_cast<double>(whole.size(0));
    // GPT-2's fused matrix has its inputs first, and three matrices side by side.
    const double fans = fused ? outputs + inputs / 3 : inputs + outputs;
    whole.mul_(std::sqrt(2 / fans));
    const double gain = std::pow(8.0 * static_cast<double>(model.num_layers), -0.25);
    if (fused) {
        const std::int64_t third = whole.size(1) / 3;
        whole.narrow(1, 2 * third, third).mul_(gain);
    } else if (!name.ends_with("q_proj.weight") && !name.ends_with("k_proj.weight")) {
        whole.mul_(gain);
    }
}

}  // namespace

double deepnorm_alpha(const Model& model) { return std::pow(2.0 * static_cast<double>(model.num_layers), 0.25); }

double mup_rate(const Model& model, const std::string& name) {
    return Decoder::layer_of(name) == "embed" ? 1 : 1 / model.width_factor();
}

namespace {

/// PEFT's initial values: A is uniform within 1 / sqrt(in) like torch's Linear (Kaiming, a = sqrt(5)), and B is 0, so
/// that the adapter changes nothing at first.
torch::Tensor initial_adapter(const std::string& name, const std::vector<std::int64_t>& sizes, std::uint64_t key) {
    torch::Tensor whole = torch::zeros(sizes);
    if (!name.ends_with(".lora_B.weight")) {
        fill_uniform(whole, 1 / std::sqrt(static_cast<float>(sizes.back())), key);
    }
    return whole;
}

bool is_adapter(const std::string& name) { return name.find(".lora_") != std::string::npos; }

}  // namespace

torch::Tensor initial_part(const std::string& full_name, const Shard& shard, const Model& model, std::uint64_t seed) {
    const std::string& name = shard.copy_of.empty() ? full_name : shard.copy_of;
    if (shard.whole.size() < 2) return torch::full(shard.sizes(), name.ends_with("bias") ? 0.0F : 1.0F);
    const std::uint64_t key = stream_key(seed, name);
    if (is_adapter(name)) {
        const torch::Tensor adapter = initial_adapter(name, shard.whole, key);
        return shard.dim < 0 ? adapter : shard.cut(adapter);
    }
    torch::Tensor whole = torch::empty(shard.whole);
    if (model.norm_placement == NormPlacement::DeepNorm && in_layer(name)) {
        fill_normal(whole, 1, key);
        scale_deepnorm(name, model, whole);
    } else {
        fill_normal(whole, static_cast<float>(deviation(name, model) * mup_deviation(name, model)), key);
    }
    return shard.dim < 0 ? whole : shard.cut(whole);
}

void initialize(torch::nn::Module& module, const Model& model, std::uint64_t seed) {
    const torch::NoGradGuard no_grad;
    const auto shards = shards_of(module);
    for (auto& item : module.named_parameters()) {
        item.value().copy_(initial_part(item.key(), shards.at(item.key()), model, seed));
    }
}

}  // namespace plimsoll::engine
