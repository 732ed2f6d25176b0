// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/gguf_keys.h"

#include <algorithm>

#include "core/base/json.h"

namespace plimsoll {

namespace {

using enum KeyUse;

constexpr std::string_view experts = "experts of another kind than Mixtral's";

constexpr FileKey keys[] = {
    {"general.architecture", Understood, "model.family"},
    {"general.name", Understood, "model.name"},
    {"general.type", Judged, "a file of another kind than a model", "\"model\""},
    {"general.*", Harmless, "of the file"},
    {"tokenizer.*", Harmless, "the tokenizer; the embedding's rows say the vocabulary"},
    {"split.*", Harmless, "the parts of a file"},
    {"quantize.*", Harmless, "how the file's numbers were quantized"},

    {"arch.context_length", Understood, "model.max_position"},
    {"arch.embedding_length", Understood, "model.hidden_size"},
    {"arch.block_count", Understood, "model.num_layers"},
    {"arch.feed_forward_length", Understood, "model.ffn_hidden_size"},
    {"arch.attention.head_count", Understood, "model.num_heads"},
    {"arch.attention.head_count_kv", Understood, "model.num_kv_heads"},
    {"arch.attention.key_length", Understood, "model.head_dim"},
    {"arch.attention.value_length", Understood, "model.head_dim"},
    {"arch.attention.layer_norm_epsilon", Understood, "model.norm_eps"},
    {"arch.attention.layer_norm_rms_epsilon", Understood, "model.norm_eps"},
    {"arch.rope.freq_base", Understood, "model.rope_theta"},
    {"arch.vocab_size", Understood, "model.vocab_size"},
    {"arch.expert_count", Understood, "model.num_experts"},
    {"arch.expert_used_count", Understood, "model.experts_per_token"},

    {"arch.tensor_data_layout", Harmless, "how the rows of q and k lie in the file"},
    {"arch.rope.scaling.original_context_length", Harmless, "of rope.scaling.type"},
    {"arch.rope.scaling.finetuned", Harmless, "of rope.scaling.type"},
    {"arch.rope.scaling.attn_factor", Harmless, "of rope.scaling.type"},

    {"arch.rope.dimension_count", Judged, "rotary positions on a part of each head"},
    {"arch.rope.scaling.type", Judged, "scaled rotary positions", "\"none\""},
    {"arch.rope.scaling.factor", Judged, "scaled rotary positions", "0|0.0|1|1.0"},
    {"arch.rope.scale_linear", Judged, "scaled rotary positions", "0|0.0|1|1.0"},
    {"arch.rope.scaling.yarn_log_multiplier", Judged, "scaled rotary positions"},
    {"arch.rope.dimension_sections", Judged, "rotary positions in parts"},
    {"arch.attention.sliding_window", Judged, "a window of attention"},
    {"arch.attention.sliding_window_pattern", Judged, "a window of attention in some layers"},
    {"arch.attention.scale", Judged, "a scale of its own for the scores of attention"},
    {"arch.attention.max_alibi_bias", Judged, "positions by ALiBi"},
    {"arch.attention.clamp_kqv", Judged, "queries, keys and values that are clipped"},
    {"arch.attention.causal", Judged, "attention to later positions", "true"},
    {"arch.attn_logit_softcapping", Judged, "a cap on the scores of attention"},
    {"arch.final_logit_softcapping", Judged, "a cap on the logits"},
    {"arch.logit_scale", Judged, "scaled logits", "0|0.0|1|1.0"},
    {"arch.residual_scale", Judged, "scaled residuals", "0|0.0|1|1.0"},
    {"arch.embedding_scale", Judged, "scaled embeddings", "0|0.0|1|1.0"},
    {"arch.use_parallel_residual", Judged, "attention and MLP side by side"},
    {"arch.pooling_type", Judged, "an embedding in place of logits"},
    {"arch.nextn_predict_layers", Judged, "layers that predict tokens further ahead"},
    {"arch.expert_feed_forward_length", Judged, experts},
    {"arch.expert_shared_count", Judged, experts},
    {"arch.expert_shared_feed_forward_length", Judged, experts},
    {"arch.expert_weights_scale", Judged, experts},
    {"arch.expert_weights_norm", Judged, "weights of the chosen experts that do not sum to 1", "true"},
    {"arch.expert_gating_func", Judged, experts, "0|1"},
    {"arch.leading_dense_block_count", Judged, experts},
};

const FileKey* row_of(std::string_view key, std::string_view architecture) {
    std::string general(key);
    if (key.starts_with(architecture) && key.substr(architecture.size()).starts_with('.'))
        general = "arch" + std::string(key.substr(architecture.size()));
    const FileKey* all = nullptr;
    for (const FileKey& row : keys) {
        if (row.name == general) return &row;
        if (row.name.ends_with('*') && general.starts_with(row.name.substr(0, row.name.size() - 1))) all = &row;
    }
    return all;
}

class Judge {
public:
    Judge(const GgufFile& file, const std::string& architecture, const Model& model)
        : file_(file), architecture_(architecture), model_(model) {}

    KeyFindings judge() {
        for (const auto& [key, value] : file_.values) one(key, value, shown(value));
        for (const auto& [key, length] : file_.array_lengths)
            one(key, Json("an array"), fmt::format("an array of {}", length));
        for (const char* name : {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}) {
            if (!file_.find(name)) continue;
            add(name,
                fmt::format("{} holds factors on the rotary frequencies (the scaling of LLaMA 3.1 and of LongRoPE); "
                            "they are those of the base alone here",
                            name));
        }
        return std::move(found_);
    }

private:
    void add(std::string key, std::string sentence, std::int64_t up_to = 0) {
        found_.push_back({std::move(key), std::move(sentence), KeyFinding::Weight::NotComputed, up_to});
    }

    void one(const std::string& key, const Json& value, const std::string& text) {
        const FileKey* row = row_of(key, architecture_);
        if (row == nullptr) {
            found_.push_back(
                {key,
                 fmt::format("{} is {}, a key that is not known: the plan does not have what it asks for", key, text),
                 KeyFinding::Weight::Told});
            return;
        }
        if (row->use != Judged || is_neutral(value, row->neutral) || says_the_same(row->name, value)) return;
        if (row->name == "arch.attention.sliding_window") {
            const auto window = value.is_number() ? value.get<std::int64_t>() : 0;
            if (window >= model_.max_position) return;
            add(key,
                fmt::format(
                    "{} is {}: attention is over the whole sequence here, which is the same for sequences of up "
                    "to {} tokens",
                    key, text, window),
                window);
            return;
        }
        add(key, fmt::format("{} is {}, which asks for {}; that is not computed here", key, text, row->reason));
    }

    /// The value is what the model computes in any case.
    bool says_the_same(std::string_view name, const Json& value) const {
        if (!value.is_number()) return false;
        const auto is = [&](std::int64_t expected) { return value == Json(expected); };
        if (name == "arch.rope.dimension_count") return model_.position != Position::Rotary || is(model_.head_size());
        if (name == "arch.expert_feed_forward_length") return is(model_.ffn_hidden_size);
        if (name == "arch.rope.scaling.factor") {
            const auto type = file_.values.find(architecture_ + ".rope.scaling.type");
            return type != file_.values.end() && type->second == "none";
        }
        return false;
    }

    const GgufFile& file_;
    const std::string& architecture_;
    const Model& model_;
    KeyFindings found_;
};

}  // namespace

std::span<const FileKey> gguf_keys() { return keys; }

KeyFindings judge_gguf(const GgufFile& file, const std::string& architecture, const Model& model) {
    return Judge(file, architecture, model).judge();
}

}  // namespace plimsoll
