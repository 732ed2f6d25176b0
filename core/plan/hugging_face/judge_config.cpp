// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/judge_config.h"

#include <algorithm>
#include <array>

#include "core/plan/hugging_face/config_keys.h"

namespace plimsoll {

namespace {

/// The plan would have other sizes than the model.
constexpr std::array changes_sizes{std::string_view("is_encoder_decoder"),
                                   std::string_view("add_cross_attention"),
                                   std::string_view("text_config"),
                                   std::string_view("vision_config"),
                                   std::string_view("per_layer_config"),
                                   std::string_view("block_configs"),
                                   std::string_view("pruned_heads"),
                                   std::string_view("num_experts"),
                                   std::string_view("num_local_experts"),
                                   std::string_view("n_routed_experts"),
                                   std::string_view("n_shared_experts"),
                                   std::string_view("moe_intermediate_size"),
                                   std::string_view("shared_expert_intermediate_size"),
                                   std::string_view("first_k_dense_replace"),
                                   std::string_view("kv_lora_rank"),
                                   std::string_view("q_lora_rank")};

std::size_t shown_size(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace).size(); }

const Json& rope_of(const Json& config) {
    const Json& scaling = value_under(config, "rope_scaling");
    const bool nothing = scaling.is_null() || (scaling.is_object() && scaling.empty());
    return nothing ? value_under(config, "rope_parameters") : scaling;
}

double number_of(const Json& object, const char* key, double missing) {
    const Json& value = value_under(object, key);
    return value.is_number() ? value.get<double>() : missing;
}

/// Judges the keys whose meaning hangs on others.
class Judge {
public:
    Judge(const Json& config, const Model& model) : config_(config), model_(model) {}

    KeyFindings judge() {
        rope();
        window();
        layer_types();
        architecture();
        biases();
        activation();
        context();
        dtype();
        for (const auto& [key, value] : config_.items()) plain(key, value);
        return std::move(found_);
    }

private:
    void add(std::string key, std::string sentence, KeyFinding::Weight weight, std::int64_t up_to = 0) {
        found_.push_back({std::move(key), std::move(sentence), weight, up_to});
    }
    void not_computed(const char* key, std::string sentence, std::int64_t up_to = 0) {
        add(key, std::move(sentence), KeyFinding::Weight::NotComputed, up_to);
    }

    /// transformers' modeling_rope_utils.py. "dynamic" changes nothing up to max_position_embeddings, where a plan's
    /// sequences end.
    void rope() {
        const char* key = value_under(config_, "rope_scaling").is_null() ? "rope_parameters" : "rope_scaling";
        const Json& rope = rope_of(config_);
        if (rope.is_null() || model_.family == Family::Gpt2) return;
        if (!rope.is_object()) {
            add(key, fmt::format("{} is {}; an object is needed", key, shown(rope)), KeyFinding::Weight::Refused);
            return;
        }
        const std::string type = rope_type(config_);
        const double factor = number_of(rope, "factor", 0);
        const double part = number_of(rope, "partial_rotary_factor", 1);
        if (part != 1) {
            not_computed(
                key, fmt::format("{} has partial_rotary_factor {}: rotary positions turn whole heads here", key, part));
        }
        if (type == "default" || type == "dynamic" || ((type == "linear" || type == "llama3") && factor == 1)) return;
        not_computed(key, fmt::format("{} is of type {} with factor {}: rotary positions are those of rope_theta "
                                      "alone here",
                                      key, type, shown(value_under(rope, "factor"))));
    }

    /// How far back a position attends, as transformers' class of the family takes it; 0: without limit.
    std::int64_t attention_window() const {
        const Json& given = value_under(config_, "sliding_window");
        const bool missing = !config_.contains("sliding_window");
        const bool qwen2 = model_.family == Family::Qwen2;
        if (qwen2 && value_under(config_, "use_sliding_window") != Json(true)) return 0;
        // MistralConfig() and Qwen2Config() have 4096.
        const bool has_default = qwen2 || model_.family == Family::Mistral;
        const Json window = missing && has_default ? Json(4096) : given;
        if (!window.is_number()) return 0;
        if (qwen2 && !value_under(config_, "layer_types").is_array()) {
            const double full = number_of(config_, "max_window_layers", 28);
            if (full >= static_cast<double>(model_.num_layers)) return 0;
        }
        if (qwen2 && value_under(config_, "layer_types").is_array() && !has_sliding_layer()) return 0;
        const double size = window.get<double>();
        return size >= 1 && size < static_cast<double>(model_.max_position) ? static_cast<std::int64_t>(size) : 0;
    }

    bool has_sliding_layer() const {
        const Json& types = value_under(config_, "layer_types");
        return std::any_of(types.begin(), types.end(), [](const Json& each) { return each != "full_attention"; });
    }

    void window() {
        const std::int64_t window = attention_window();
        if (window == 0) return;
        not_computed(
            "sliding_window",
            fmt::format("sliding_window is {}{}: attention is over the whole sequence here, which is the same "
                        "for sequences of up to {} tokens",
                        window, config_.contains("sliding_window") ? "" : ", since the key is missing", window),
            window);
    }

    void layer_types() {
        const Json& types = value_under(config_, "layer_types");
        if (!types.is_array() || !has_sliding_layer()) return;
        const bool sliding = std::all_of(types.begin(), types.end(), [](const Json& each) {
            return each == "full_attention" || each == "sliding_attention";
        });
        // With windows alone they are what window() has judged.
        if (sliding && model_.family == Family::Qwen2) return;
        not_computed(
            "layer_types",
            fmt::format("layer_types is {}: the layers of a plan are alike, with full attention", shown(types)));
    }

    void architecture() {
        const Json& given = value_under(config_, "architectures");
        if (!given.is_array() || given.empty() || !given.front().is_string()) return;
        const std::string name = given.front().get<std::string>();
        const std::string_view family = family_class();
        if (name == fmt::format("{}{}", family, model_.family == Family::Gpt2 ? "LMHeadModel" : "ForCausalLM")) return;
        if (name == fmt::format("{}Model", family)) return;
        const bool own = name.starts_with(family) && (name.substr(family.size()).starts_with("For") ||
                                                      name.substr(family.size()).starts_with("DoubleHeads"));
        if (own) {
            not_computed("architectures", fmt::format("architectures is {}: the plan has the head of a language model, "
                                                      "not that of this class",
                                                      shown(given)));
        } else {
            add("architectures",
                fmt::format("architectures is {}, which is no class of the model_type {}: a model of another class has "
                            "other weights; take the config.json as it was published",
                            shown(given), name_of(model_.family)),
                KeyFinding::Weight::Refused);
        }
    }

    std::string_view family_class() const {
        switch (model_.family) {
            case Family::Gpt2:
                return "GPT2";
            case Family::Mistral:
                return "Mistral";
            case Family::Mixtral:
                return "Mixtral";
            case Family::Qwen2:
                return "Qwen2";
            default:
                return "Llama";
        }
    }

    /// LlamaConfig has a key for the biases of q, k, v and o, and one for those of the MLP. Qwen2's q, k and v have
    /// biases whatever a file says, those of Mistral and Mixtral none.
    void biases() {
        if (model_.family == Family::Gpt2) return;
        const Json &attention = value_under(config_, "attention_bias"), &mlp = value_under(config_, "mlp_bias");
        const bool has_attention = attention == Json(true), has_mlp = mlp == Json(true);
        if (model_.family == Family::Llama) {
            if (has_attention == has_mlp) return;
            not_computed(has_attention ? "attention_bias" : "mlp_bias",
                         fmt::format("attention_bias is {} and mlp_bias is {}: a plan has biases on all linear layers "
                                     "or on none; this one has none",
                                     has_attention, has_mlp));
            return;
        }
        if (model_.family == Family::Qwen2 && attention == Json(false)) {
            add("attention_bias",
                "attention_bias is false, and q, k and v of qwen2 have biases whatever the key says: the file is of "
                "another family (qwen3 has the key), which is not known here",
                KeyFinding::Weight::Refused);
        }
        if (model_.family != Family::Qwen2 && has_attention) {
            not_computed("attention_bias",
                         fmt::format("attention_bias is true, and {} has no biases", name_of(model_.family)));
        }
        if (has_mlp)
            not_computed("mlp_bias",
                         fmt::format("mlp_bias is true, and the MLP of {} has no biases", name_of(model_.family)));
    }

    /// transformers' activations.py. The tanh form of GELU is computed here, which has three names there.
    void activation() {
        const Json& given = value_under(config_, "activation_function");
        if (model_.family != Family::Gpt2 || !given.is_string() || model_.activation != Activation::Gelu) return;
        for (const char* same : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_python_tanh", "gelu_accurate"}) {
            if (given == same) return;
        }
        not_computed("activation_function",
                     fmt::format("activation_function is {}: GELU is computed in its tanh form here (gelu_new)",
                                 given.get<std::string>()));
    }

    void context() {
        const Json& given = value_under(config_, "n_ctx");
        if (model_.family != Family::Gpt2 || given.is_null() || given == Json(model_.max_position)) return;
        add("n_ctx",
            fmt::format("n_ctx is {} and the model has {} positions; transformers reads n_positions alone, and "
                        "so does the plan",
                        shown(given), model_.max_position),
            KeyFinding::Weight::Told);
    }

    void dtype() {
        for (const char* key : {"dtype", "torch_dtype"}) {
            const Json& given = value_under(config_, key);
            if (given.is_null()) continue;
            for (const char* known : {"float32", "float16", "bfloat16", "auto"}) {
                if (given == known || given == std::string("torch.") + known) return;
            }
            not_computed(key,
                         fmt::format("{} is {}: weights are float32, float16 or bfloat16 here", key, shown(given)));
        }
    }

    /// Keys that ask for something by themselves.
    void plain(const std::string& key, const Json& value) {
        static constexpr std::array elsewhere{
            std::string_view("rope_scaling"),  std::string_view("rope_parameters"),
            std::string_view("architectures"), std::string_view("attention_bias"),
            std::string_view("mlp_bias"),      std::string_view("activation_function"),
            std::string_view("n_ctx")};
        const auto among = [&](const auto& names) { return std::find(names.begin(), names.end(), key) != names.end(); };
        if (table_.empty()) table_ = config_keys(model_.family);
        const auto row =
            std::find_if(table_.begin(), table_.end(), [&](const FileKey& each) { return each.name == key; });
        if (row == table_.end()) {
            add(key,
                fmt::format("{} is {}, a key that is not known: transformers' class of the family does not read it, "
                            "and neither does the plan",
                            key, shown(value)),
                KeyFinding::Weight::Told);
            return;
        }
        if (row->use == KeyUse::Kept && shown_size(value) > longest_kept_key) {
            add(key, fmt::format("{} is too long to be kept for an export", key), KeyFinding::Weight::Told);
        }
        if (row->use != KeyUse::Judged || among(elsewhere) || among(window_keys()) || is_neutral(value, row->neutral))
            return;
        add(key, fmt::format("{} is {}, which asks for {}; that is not computed here", key, shown(value), row->reason),
            among(changes_sizes) ? KeyFinding::Weight::Refused : KeyFinding::Weight::NotComputed);
    }

    const Json& config_;
    const Model& model_;
    KeyFindings found_;
    std::vector<FileKey> table_;
};

}  // namespace

KeyFindings judge_config(const Json& config, const Model& model) { return Judge(config, model).judge(); }

std::string rope_type(const Json& config) {
    const Json& rope = rope_of(config);
    if (!rope.is_object()) return "default";
    for (const char* key : {"rope_type", "type"}) {
        const Json& type = value_under(rope, key);
        if (type.is_string()) return type.get<std::string>();
    }
    // A dict by kind of layer has no type of its own.
    const bool nested = std::any_of(rope.begin(), rope.end(), [](const Json& each) { return each.is_object(); });
    return nested ? "one for each kind of layer" : "default";
}

}  // namespace plimsoll
