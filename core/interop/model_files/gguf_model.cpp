// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/gguf_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/json.h"
#include "core/interop/model_files/gguf_keys.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/json_fields.h"
#include "core/plan/parameters.h"

namespace plimsoll {

namespace {

constexpr std::array<std::string_view, 5> architectures{"llama", "mistral", "mixtral", "qwen2", "gpt2"};

/// Reads keys of the file: the first missing or wrong key becomes the error. The reader of Hugging Face's configs
/// checks ranges.
class Keys {
public:
    Keys(const GgufFile& file, std::string architecture) : file_(file), architecture_(std::move(architecture)) {}

    std::int64_t integer(std::string_view name) {
        const auto value = optional_integer(name);
        if (!value && error_.empty()) error_ = fmt::format("the key {} is missing", full(name));
        return value.value_or(0);
    }

    std::optional<std::int64_t> optional_integer(std::string_view name) {
        const std::string key = full(name);
        if (file_.array_lengths.contains(key))
            fail("{} has a value for each layer; a plan has layers that are alike", key);
        const auto found = file_.values.find(key);
        if (found == file_.values.end()) return std::nullopt;
        const auto whole = whole_number(found->second);
        if (!whole || *whole < 0) fail("{} is {}; a whole number is needed", key, shown(found->second));
        return whole;
    }

    double number(std::string_view name, double missing) {
        const auto found = file_.values.find(full(name));
        if (found == file_.values.end()) return missing;
        if (!found->second.is_number() || !std::isfinite(found->second.get<double>())) {
            fail("{} is {}; a number is needed", full(name), shown(found->second));
            return missing;
        }
        return found->second.get<double>();
    }

    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args) {
        if (error_.empty()) error_ = fmt::format(format, std::forward<Args>(args)...);
    }
    const std::string& error() const { return error_; }

private:
    std::string full(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }
    const GgufFile& file_;
    std::string architecture_;
    std::string error_;
};

std::string text(const GgufFile& file, const std::string& key) {
    const auto found = file.values.find(key);
    return found != file.values.end() && found->second.is_string() ? found->second.get<std::string>() : "";
}

std::int64_t tokens_of(const GgufFile& file) {
    const auto found = file.array_lengths.find("tokenizer.ggml.tokens");
    return found == file.array_lengths.end() ? 0 : static_cast<std::int64_t>(found->second);
}

/// Rows of the embedding; without tensors the number in the metadata.
std::int64_t vocabulary(const GgufFile& file, Keys& keys, std::int64_t hidden) {
    const GgufTensor* embedding = file.find("token_embd.weight");
    if (!embedding) return tokens_of(file) > 0 ? tokens_of(file) : keys.integer("vocab_size");
    if (embedding->shape.size() != 2 || embedding->shape[0] != hidden) {
        keys.fail("tensor token_embd.weight has shape {}, and embedding_length is {}; the file is damaged",
                  fmt::join(embedding->shape, " x "), hidden);
        return 0;
    }
    return embedding->shape[1];
}

Json gpt2_config(const GgufFile& file, Keys& keys) {
    const std::int64_t hidden = keys.integer("embedding_length");
    Json config{{"model_type", "gpt2"},
                {"n_embd", hidden},
                {"n_layer", keys.integer("block_count")},
                {"n_head", keys.integer("attention.head_count")},
                {"n_positions", keys.integer("context_length")},
                {"vocab_size", vocabulary(file, keys, hidden)},
                {"layer_norm_epsilon", keys.number("attention.layer_norm_epsilon", 1e-5)}};
    if (const auto ffn = keys.optional_integer("feed_forward_length")) config["n_inner"] = *ffn;
    return config;
}

Json llama_like_config(const GgufFile& file, Keys& keys, const std::string& architecture) {
    const std::int64_t hidden = keys.integer("embedding_length");
    const std::int64_t heads = keys.integer("attention.head_count");
    const std::int64_t experts = keys.optional_integer("expert_count").value_or(0);
    if (experts > 0 && architecture == "qwen2")
        keys.fail("qwen2.expert_count is {}; qwen2 has no experts here", experts);
    Json config{{"model_type", experts > 0 ? "mixtral" : architecture},
                {"hidden_size", hidden},
                {"num_hidden_layers", keys.integer("block_count")},
                {"num_attention_heads", heads},
                {"num_key_value_heads", keys.optional_integer("attention.head_count_kv").value_or(heads)},
                {"intermediate_size", keys.integer("feed_forward_length")},
                {"max_position_embeddings", keys.integer("context_length")},
                {"vocab_size", vocabulary(file, keys, hidden)},
                {"rms_norm_eps", keys.number("attention.layer_norm_rms_epsilon", 1e-5)},
                {"rope_theta", keys.number("rope.freq_base", 10000)},
                {"sliding_window", nullptr},
                // llama.cpp takes the embedding for the head where the file has no head.
                {"tie_word_embeddings", !file.tensors.empty() && !file.find("output.weight")}};
    if (experts > 0) {
        config["num_local_experts"] = experts;
        config["num_experts_per_tok"] = keys.integer("expert_used_count");
    } else if (architecture == "llama") {
        config["attention_bias"] = file.find("blk.0.attn_q.bias") != nullptr;
        config["mlp_bias"] = file.find("blk.0.ffn_down.bias") != nullptr;
    }
    if (const auto window = keys.optional_integer("attention.sliding_window"); window && *window > 0)
        config["sliding_window"] = *window;
    const std::string scaling = text(file, architecture + ".rope.scaling.type");
    if (!scaling.empty() && scaling != "none")
        config["rope_scaling"] = {{"rope_type", scaling}, {"factor", keys.number("rope.scaling.factor", 1)}};
    const auto key = keys.optional_integer("attention.key_length");
    const auto value = keys.optional_integer("attention.value_length");
    if (key) config["head_dim"] = *key;
    if (key && value && *key != *value)
        keys.fail("{0}.attention.key_length is {1} and value_length is {2}; a plan has heads of one size", architecture,
                  *key, *value);
    return config;
}

/// Tables made from the metadata, not learned.
bool is_constant(const std::string& name) {
    return name.starts_with("rope_f") || name.ends_with(".attn_rot_embd") || name.ends_with(".rope_freqs.weight");
}

Result<std::int64_t> parameters_of(const GgufFile& file, bool second_embedding, const std::string& what) {
    std::int64_t sum = 0;
    for (const GgufTensor& tensor : file.tensors) {
        if (is_constant(tensor.name) || (second_embedding && tensor.name == "output.weight")) continue;
        if (__builtin_add_overflow(sum, tensor.elements, &sum))
            return bad_input("{}: the tensors have more elements than 64 bits can count; the file is damaged", what);
    }
    return sum;
}

void compare(const GgufFile& file, GgufModel& made) {
    const std::int64_t planned = count_parameters(made.model).total;
    const auto parts = file.values.find("split.count");
    if (file.tensors.empty()) {
        made.notes.push_back("the file holds no tensors: the model is what its metadata says, with a head of its own");
    } else if (parts != file.values.end() && parts->second > Json(1)) {
        made.notes.push_back(fmt::format("the file is one of {} parts, so that its parameters cannot be compared",
                                         shown(parts->second)));
    } else if (made.parameters == planned) {
        made.notes.push_back(fmt::format("its {} tensors hold {} parameters, as many as the plan's model",
                                         format_count(static_cast<std::int64_t>(file.tensors.size())),
                                         format_count(made.parameters)));
    } else {
        made.notes.push_back(fmt::format(
            "its tensors hold {} parameters and the plan's model has {}, {} {}: the file "
            "has parts that a plan cannot say, or lacks some",
            format_count(made.parameters), format_count(planned), format_count(std::abs(made.parameters - planned)),
            planned > made.parameters ? "more" : "fewer"));
    }
    const std::int64_t tokens = tokens_of(file);
    if (tokens > 0 && tokens != made.model.vocab_size)
        made.notes.push_back(fmt::format("the tokenizer has {} tokens and the embedding {} rows; the plan has the rows",
                                         format_count(tokens), format_count(made.model.vocab_size)));
}

}  // namespace

Result<GgufModel> model_from_gguf(const GgufFile& file, const std::string& what) {
    const std::string architecture = text(file, "general.architecture");
    if (architecture.empty()) return bad_input("{}: the key general.architecture is missing or no text", what);
    if (std::find(architectures.begin(), architectures.end(), architecture) == architectures.end()) {
        const std::string hint = family_hint(architecture, {architectures.begin(), architectures.end()});
        return bad_input("{}: general.architecture is {}; allowed: {}{}", what, shown(Json(architecture)),
                         fmt::join(architectures, ", "), hint);
    }
    Keys keys(file, architecture);
    const bool gpt2 = architecture == "gpt2";
    Json config = gpt2 ? gpt2_config(file, keys) : llama_like_config(file, keys, architecture);
    if (!keys.error().empty()) return bad_input("{}: {}", what, keys.error());
    config["_name_or_path"] = text(file, "general.name");
    PLIMSOLL_TRY(auto model, model_from_hf_config(config, what));
    PLIMSOLL_TRY(const auto parameters, parameters_of(file, gpt2, what));
    GgufModel made{std::move(model), parameters, std::move(config), {}};
    compare(file, made);
    for (const KeyFinding& each : judge_gguf(file, architecture, made.model)) made.notes.push_back(each.sentence);
    return made;
}

}  // namespace plimsoll
