// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/meta_params.h"

#include <array>
#include <cmath>

#include "core/plan/hugging_face/file_keys.h"

namespace plimsoll {

namespace {

struct Named {
    const char *meta, *hugging_face;
};
constexpr std::array same{Named{"dim", "hidden_size"},
                          Named{"n_layers", "num_hidden_layers"},
                          Named{"n_heads", "num_attention_heads"},
                          Named{"n_kv_heads", "num_key_value_heads"},
                          Named{"head_dim", "head_dim"},
                          Named{"hidden_dim", "intermediate_size"},
                          Named{"norm_eps", "rms_norm_eps"},
                          Named{"rope_theta", "rope_theta"},
                          Named{"sliding_window", "sliding_window"},
                          Named{"vocab_size", "vocab_size"}};

/// FeedForward's width: 2/3 of 4 dim, times the multiplier, up to the next multiple.
std::int64_t mlp_width(const Json& params) {
    const auto number = [&](const char* key, double missing) {
        const Json& value = value_under(params, key);
        return value.is_number() ? value.get<double>() : missing;
    };
    const double dim = number("dim", 0), multiple = number("multiple_of", 256);
    double width = std::floor(2 * std::floor(4 * dim) / 3);
    width = std::floor(number("ffn_dim_multiplier", 1) * width);
    const double rounded = multiple >= 1 ? multiple * std::floor((width + multiple - 1) / multiple) : width;
    return rounded >= 1 && rounded < 1e15 ? static_cast<std::int64_t>(rounded) : 0;
}

}  // namespace

bool is_meta_params(const Json& document) {
    return document.is_object() && !document.contains("model_type") && !document.contains("architectures") &&
           document.contains("dim") && document.contains("n_layers") && document.contains("n_heads");
}

Json config_of_meta_params(const Json& params) {
    const bool mistral = params.contains("hidden_dim");
    Json config{{"model_type", mistral ? "mistral" : "llama"}, {"rms_norm_eps", 1e-5}};
    if (mistral) config["sliding_window"] = nullptr;
    if (!mistral) config["intermediate_size"] = mlp_width(params);
    for (const auto& [key, value] : params.items()) {
        bool known = key == "multiple_of" || key == "ffn_dim_multiplier" || key == "max_batch_size" ||
                     key == "max_seq_len" || key == "use_scaled_rope";
        for (const Named& each : same) {
            if (key != each.meta) continue;
            known = true;
            // -1: the tokenizer says it.
            if (!(key == "vocab_size" && value == Json(-1))) config[each.hugging_face] = value;
        }
        if (!known) config[key] = value;
    }
    if (value_under(params, "use_scaled_rope") == Json(true)) {
        const Json& factor = value_under(params, "rope_scaling_factor");
        config["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", factor.is_null() ? Json(8.0) : factor}};
        config.erase("rope_scaling_factor");
    }
    return config;
}

}  // namespace plimsoll
