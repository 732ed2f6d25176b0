// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/hf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>

#include "core/base/nearest.h"
#include "core/plan/hugging_face/judge_config.h"
#include "core/plan/hugging_face/meta_params.h"
#include "core/plan/json_fields.h"
#include "core/plan/parameters.h"

namespace plimsoll {

namespace {

constexpr IntRange size{1, 1'000'000'000};
constexpr IntRange layers{1, 100'000};
constexpr IntRange heads{1, 1'000'000};

/// Reads keys of a config: a key that is missing or null takes its default, the first wrong one becomes the error.
class Config {
public:
    Config(const Json& json, std::string what) : json_(json), what_(std::move(what)) {}

    std::int64_t integer(std::initializer_list<const char*> names, IntRange range, std::int64_t missing) {
        const auto [name, value] = find(names);
        if (!value) return missing;
        const std::optional<std::int64_t> whole = whole_number(*value);
        if (!whole || !in_range(*whole, range)) {
            fail("{} is {}; a whole number from {} is needed", name, shown(*value), allowed_text(range));
            return missing;
        }
        return *whole;
    }

    double number(std::initializer_list<const char*> names, NumberRange range, double missing) {
        const auto [name, value] = find(names);
        if (!value) return missing;
        if (!value->is_number() || !in_range(value->get<double>(), range)) {
            fail("{} is {}; a number is needed ({})", name, shown(*value), allowed_text(range));
            return missing;
        }
        return value->get<double>();
    }

    bool flag(const char* name, bool missing) {
        const Json* value = find({name}).second;
        if (!value) return missing;
        if (!value->is_boolean()) fail("{} is {}; true or false is needed", name, shown(*value));
        return value->is_boolean() ? value->get<bool>() : missing;
    }

    std::string text(const char* name, std::string missing) {
        const Json* value = find({name}).second;
        if (!value) return missing;
        if (!value->is_string()) fail("{} is {}; text in quotes is needed", name, shown(*value));
        return value->is_string() ? value->get<std::string>() : missing;
    }

    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args) {
        if (error_.empty()) error_ = what_ + ": " + fmt::format(format, std::forward<Args>(args)...);
    }
    const std::string& error() const { return error_; }

    /// transformers 5 keeps the rotary base in rope_parameters, earlier releases at the top.
    double rope_theta(double missing) {
        const double top = number({"rope_theta"}, theta_range, missing);
        for (const char* name : {"rope_scaling", "rope_parameters"}) {
            const auto nested = json_.find(name);
            if (nested == json_.end() || !nested->is_object() || !nested->contains("rope_theta")) continue;
            Config rope(*nested, name);
            const double theta = rope.number({"rope_theta"}, theta_range, missing);
            if (!rope.error().empty()) fail("{}", rope.error());
            if (json_.contains("rope_theta") && top != theta)
                fail("rope_theta is {} and that of {} is {}; make them equal", top, name, theta);
            return theta;
        }
        return top;
    }

private:
    static constexpr NumberRange theta_range{0, 1e12, true};

    /// The value under one of the names, which have to agree.
    std::pair<std::string, const Json*> find(std::initializer_list<const char*> names) {
        std::pair<std::string, const Json*> first{*names.begin(), nullptr};
        for (const char* name : names) {
            const auto found = json_.find(name);
            if (found == json_.end() || found->is_null()) continue;
            if (!first.second) {
                first = {name, &*found};
            } else if (*first.second != *found) {
                fail("{} is {} and {} is {}, which are two names of one thing; make them equal", first.first,
                     shown(*first.second), name, shown(*found));
            }
        }
        return first;
    }

    const Json& json_;
    std::string what_;
    std::string error_;
};

/// What the configuration classes of transformers take for keys that are missing.
struct Defaults {
    Family family;
    std::string_view model_type;
    std::string_view architecture;
    std::int64_t vocab_size;
    std::int64_t ffn;
    std::int64_t kv_heads;  ///< 0: as many as heads
    std::int64_t max_position;
    double norm_eps;
    double rope_theta;
};

constexpr std::array defaults{
    Defaults{Family::Gpt2, "gpt2", "GPT2LMHeadModel", 50257, 0, 0, 1024, 1e-5, 0},
    Defaults{Family::Llama, "llama", "LlamaForCausalLM", 32000, 11008, 0, 2048, 1e-6, 1e4},
    Defaults{Family::Mistral, "mistral", "MistralForCausalLM", 32000, 14336, 8, 131072, 1e-6, 1e4},
    Defaults{Family::Mixtral, "mixtral", "MixtralForCausalLM", 32000, 14336, 8, 131072, 1e-5, 1e6},
    Defaults{Family::Qwen2, "qwen2", "Qwen2ForCausalLM", 151936, 22016, 32, 32768, 1e-6, 1e4},
};

/// model_types of transformers that a slip of the pen could take for one of ours, though none of them loads as one.
constexpr std::array<std::string_view, 14> other_models{"llama4",   "llava",    "mllama",  "flava", "ministral",
                                                        "mistral3", "mistral4", "pixtral", "gptj",  "voxtral",
                                                        "qwen3",    "mpt",      "opt",     "git"};

Result<Defaults> defaults_of(const Json& json, const std::string& what) {
    std::vector<std::string> known;
    for (const Defaults& entry : defaults) known.emplace_back(entry.model_type);
    const auto type = json.find("model_type");
    if (type != json.end() && !type->is_null()) {
        for (const Defaults& entry : defaults) {
            if (*type == std::string(entry.model_type)) return entry;
        }
        const std::string hint = type->is_string() ? family_hint(type->get<std::string>(), known) : "";
        return bad_input("{}: model_type is {}; allowed: {}{} (plimsoll architecture counts more families)", what,
                         shown(*type), fmt::join(known, ", "), hint);
    }
    const auto architectures = json.find("architectures");
    if (architectures != json.end() && architectures->is_array() && !architectures->empty()) {
        for (const Defaults& entry : defaults) {
            if (architectures->front() == std::string(entry.architecture)) return entry;
        }
    }
    return bad_input("{} does not say its model_type, as a Hugging Face config.json does; allowed: {}", what,
                     fmt::join(known, ", "));
}

/// What lies under "plimsoll" as model_type: a checkpoint whose model transformers has no class for.
Json of_own_checkpoint(Json config, Model& own) {
    config["model_type"] = config.value("family", Json());
    const auto placement = std::find(norm_placement_names.begin(), norm_placement_names.end(),
                                     config.contains("norm_placement") && config["norm_placement"].is_string()
                                         ? config["norm_placement"].get<std::string>()
                                         : "");
    if (placement != norm_placement_names.end())
        own.norm_placement = static_cast<NormPlacement>(placement - norm_placement_names.begin());
    own.qk_norm = config.contains("qk_norm") && config["qk_norm"] == Json(true);
    for (const char* key : {"family", "norm_placement", "qk_norm"}) config.erase(key);
    return config;
}

Model read_gpt2(Config& config, const Defaults& missing) {
    Model model;
    model.family = Family::Gpt2;
    model.hidden_size = config.integer({"n_embd", "hidden_size"}, size, 768);
    model.num_layers = config.integer({"n_layer", "num_hidden_layers"}, layers, 12);
    model.num_heads = config.integer({"n_head", "num_attention_heads"}, heads, 12);
    model.num_kv_heads = model.num_heads;
    model.ffn_hidden_size = config.integer({"n_inner"}, size, 4 * model.hidden_size);
    model.vocab_size = config.integer({"vocab_size"}, {2, size.max}, missing.vocab_size);
    model.max_position = config.integer({"n_positions", "max_position_embeddings"}, size, missing.max_position);
    model.norm = Norm::LayerNorm;
    model.position = Position::Learned;
    model.qkv_bias = true;
    model.linear_bias = true;
    model.tied_head = config.flag("tie_word_embeddings", true);
    model.norm_eps = config.number({"layer_norm_epsilon"}, {0, 1, true}, missing.norm_eps);

    const std::string activation = config.text("activation_function", "gelu_new");
    model.activation = activation == "relu" ? Activation::Relu : Activation::Gelu;
    if (activation != "relu" && !activation.starts_with("gelu")) {
        config.fail("activation_function is \"{}\"; allowed: gelu_new, gelu, gelu_pytorch_tanh, gelu_fast, relu",
                    activation);
    }
    const NumberRange share{0, 0.99};
    model.dropout = config.number({"resid_pdrop"}, share, 0.1);
    for (const char* other : {"embd_pdrop", "attn_pdrop"}) {
        const double value = config.number({other}, share, 0.1);
        if (value != model.dropout) {
            config.fail("{} is {} and resid_pdrop is {}; a plan has one dropout: make them equal", other, value,
                        model.dropout);
        }
    }
    if (config.flag("add_cross_attention", false)) {
        config.fail("add_cross_attention is true; only decoders without cross-attention can be planned");
    }
    return model;
}

Model read_llama_like(Config& config, const Defaults& missing) {
    Model model;
    model.family = missing.family;
    model.hidden_size = config.integer({"hidden_size"}, size, 4096);
    model.num_layers = config.integer({"num_hidden_layers"}, layers, 32);
    model.num_heads = config.integer({"num_attention_heads"}, heads, 32);
    const std::int64_t kv_heads = missing.kv_heads > 0 ? missing.kv_heads : model.num_heads;
    model.num_kv_heads = config.integer({"num_key_value_heads"}, heads, kv_heads);
    model.head_dim = config.integer({"head_dim"}, {1, 1'000'000}, 0);
    if (model.head_dim * model.num_heads == model.hidden_size) model.head_dim = 0;
    model.ffn_hidden_size = config.integer({"intermediate_size"}, size, missing.ffn);
    model.vocab_size = config.integer({"vocab_size"}, {2, size.max}, missing.vocab_size);
    model.max_position = config.integer({"max_position_embeddings"}, size, missing.max_position);
    model.tied_head = config.flag("tie_word_embeddings", false);
    model.norm_eps = config.number({"rms_norm_eps"}, {0, 1, true}, missing.norm_eps);
    model.rope_theta = config.rope_theta(missing.rope_theta);

    const std::string activation = config.text("hidden_act", "silu");
    if (activation != "silu" && activation != "swish") {
        config.fail("hidden_act is \"{}\"; allowed: silu (SwiGLU)", activation);
    }
    model.qkv_bias = missing.family == Family::Qwen2;
    if (missing.family == Family::Llama) {
        const bool attention_bias = config.flag("attention_bias", false);
        const bool mlp_bias = config.flag("mlp_bias", false);
        model.qkv_bias = model.linear_bias = attention_bias && mlp_bias;
    }
    if (missing.family == Family::Mixtral) {
        model.num_experts = config.integer({"num_local_experts", "num_experts"}, {1, 1'000'000}, 8);
        model.experts_per_token = config.integer({"num_experts_per_tok"}, {1, 1'000'000}, 2);
        model.router_aux_loss = config.number({"router_aux_loss_coef"}, {0, 1e3}, 0.001);
    }
    if (const double dropout = config.number({"attention_dropout"}, {0, 0.99}, 0); dropout > 0) {
        config.fail(
            "attention_dropout is {}; a plan's dropout covers embeddings and residuals too: set it to 0 and give "
            "the plan model.dropout",
            dropout);
    }
    return model;
}

std::string name_of(Config& config, const Model& model) {
    const std::string name = std::filesystem::path(config.text("_name_or_path", "")).filename().string();
    if (!name.empty() && name.size() <= 200 && name.find('\0') == std::string::npos) return name;
    return fmt::format("{} {}", name_of(model.family),
                       format_short(static_cast<double>(count_parameters(model).total)));
}

}  // namespace

std::vector<std::string> ImportedModel::notes() const {
    std::vector<std::string> sentences;
    bool computed = true;
    for (const KeyFinding& each : findings) {
        sentences.push_back(each.sentence);
        computed = computed && (each.weight == KeyFinding::Weight::Told || each.up_to > 0);
    }
    if (!computed) {
        sentences.emplace_back(
            "memory and time are estimated for the plan's model; a run cannot start from the weights of this one "
            "(model.weights), and a run from fresh weights trains the plan's model");
    }
    return sentences;
}

std::string family_hint(std::string_view given, const std::vector<std::string>& known) {
    const std::string near = nearest_name(given, known);
    const auto digits = [](std::string_view name) {
        std::string found;
        std::copy_if(name.begin(), name.end(), std::back_inserter(found), [](char c) { return c >= '0' && c <= '9'; });
        return found;
    };
    // A number is a generation and "_moe" a kind: neither is a slip.
    const bool slip = !near.empty() && digits(near) == digits(given) && given.size() <= near.size() + 1 &&
                      std::find(other_models.begin(), other_models.end(), given) == other_models.end();
    return slip ? did_you_mean(given, {near}) : "";
}

Result<ImportedModel> model_of_config(const Json& json, const std::string& what) {
    if (!json.is_object()) return bad_input("{}: a Hugging Face config is an object {{ … }}", what);
    if (json.contains("plimsoll")) return bad_input("{} is a plan, not a Hugging Face config: open it as it is", what);
    ImportedModel imported;
    Model own;
    imported.config = json;
    if (value_under(json, "model_type") == "plimsoll") imported.config = of_own_checkpoint(json, own);
    if (is_meta_params(json)) {
        imported.config = config_of_meta_params(json);
        imported.unsaid = {"max_position"};
        if (!imported.config.contains("vocab_size")) imported.unsaid.emplace_back("vocab_size");
    }
    PLIMSOLL_TRY(const Defaults missing, defaults_of(imported.config, what));
    Config config(imported.config, what);
    Model& model = imported.model;
    model = missing.family == Family::Gpt2 ? read_gpt2(config, missing) : read_llama_like(config, missing);
    model.norm_placement = own.norm_placement;
    model.qk_norm = own.qk_norm;
    model.init_std = config.number({"initializer_range"}, {0, 10, true}, 0.02);
    if (config.error().empty()) model.name = name_of(config, model);
    if (!config.error().empty()) return bad_input("{}", config.error());
    imported.findings = judge_config(imported.config, model);
    for (const KeyFinding& each : imported.findings) {
        if (each.weight == KeyFinding::Weight::Refused) return bad_input("{}: {}", what, each.sentence);
    }
    return imported;
}

Result<Model> model_from_hf_config(const Json& json, const std::string& what) {
    return model_of_config(json, what).map([](ImportedModel&& imported) { return std::move(imported.model); });
}

Result<ImportedModel> import_hf_config(const std::filesystem::path& path) {
    return read_json(path, 4 * MiB).and_then([&](const Json& json) { return model_of_config(json, path.string()); });
}

}  // namespace plimsoll
