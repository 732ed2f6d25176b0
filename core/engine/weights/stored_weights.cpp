// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/stored_weights.h"

#include <algorithm>
#include <array>

#include "core/checkpoint/stored_checkpoint.h"
#include "core/engine/model/families.h"
#include "core/engine/weights/safetensors.h"

namespace plimsoll::engine {

namespace {

constexpr const char* meta_embedding = "tok_embeddings.weight";

struct Renamed {
    std::string_view meta, hugging_face;
};
constexpr std::array outer_names{Renamed{"tok_embeddings", "embed_tokens"}, Renamed{"norm", "norm"}};
constexpr std::array layer_names{
    Renamed{"attention.wq", "self_attn.q_proj"},    Renamed{"attention.wk", "self_attn.k_proj"},
    Renamed{"attention.wv", "self_attn.v_proj"},    Renamed{"attention.wo", "self_attn.o_proj"},
    Renamed{"feed_forward.w1", "mlp.gate_proj"},    Renamed{"feed_forward.w2", "mlp.down_proj"},
    Renamed{"feed_forward.w3", "mlp.up_proj"},      Renamed{"attention_norm", "input_layernorm"},
    Renamed{"ffn_norm", "post_attention_layernorm"}};

template <std::size_t n>
std::string_view found_in(const std::array<Renamed, n>& names, std::string_view meta) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const Renamed& each) { return each.meta == meta; });
    return found == names.end() ? std::string_view() : found->hugging_face;
}

using Named = std::pair<std::string, torch::Tensor>;

/// Meta rotates neighbouring rows of a head together, Hugging Face rows i and i + head/2 (transformers'
/// convert_llama_weights_to_hf.py).
Result<torch::Tensor> in_halves(const std::string& name, const torch::Tensor& rows, std::int64_t heads) {
    if (rows.dim() == 0 || rows.size(0) % (2 * heads) != 0)
        return bad_input("{} has another shape than in the plan's model of {} heads", name, heads);
    return rows.reshape({heads, rows.size(0) / heads / 2, 2, -1}).transpose(1, 2).reshape(rows.sizes());
}

/// A tensor under Hugging Face's name; rope.freqs under that of transformers' frequencies.
Result<Named> from_meta(std::string name, const torch::Tensor& tensor, const Model& model) {
    if (name.starts_with("model.")) name.erase(0, 6);
    const auto ending = name.rfind('.');
    const std::string stem = name.substr(0, ending), last = ending == std::string::npos ? "" : name.substr(ending);
    if (stem == "output") return std::pair("lm_head" + last, tensor);
    if (const auto outer = found_in(outer_names, stem); !outer.empty())
        return std::pair(fmt::format("model.{}{}", outer, last), tensor);
    // layers.3.attention.wq
    const auto dot = stem.find('.', 7);
    const auto inner = dot == std::string::npos ? std::string_view() : found_in(layer_names, stem.substr(dot + 1));
    if (name == "rope.freqs") return std::pair(std::string("model.rotary_emb.inv_freq"), tensor);
    if (!stem.starts_with("layers.") || inner.empty())
        return bad_input("{} is no weight of a LLaMA of Meta's: the checkpoint is of another model", name);
    const std::string renamed = fmt::format("model.{}.{}{}", stem.substr(0, dot), inner, last);
    if (inner != "self_attn.q_proj" && inner != "self_attn.k_proj") return std::pair(renamed, tensor);
    return in_halves(name, tensor, inner == "self_attn.q_proj" ? model.num_heads : model.num_kv_heads)
        .map([&](const torch::Tensor& rows) { return std::pair(renamed, rows); });
}

Result<torch::Tensor> values_of(const StoredTensor& stored) {
    torch::Tensor tensor = torch::empty(stored.shape, dtype_named(stored.dtype));
    PLIMSOLL_CHECK(read_values(stored, tensor.mutable_data_ptr()));
    if (tensor.scalar_type() == torch::kBool) tensor.view(torch::kByte).clamp_max_(1);
    return tensor;
}

bool has_meta_names(const StoredCheckpoint& checkpoint) {
    return std::any_of(checkpoint.weights.begin(), checkpoint.weights.end(),
                       [](const StoredTensor& each) { return each.name.ends_with(meta_embedding); });
}

}  // namespace

Result<void> each_stored_weight(const std::filesystem::path& path, const Plan& plan,
                                const std::function<Result<void>(const std::string&, const torch::Tensor&)>& take) {
    PLIMSOLL_TRY(const auto checkpoint, open_checkpoint(path));
    const Family family = plan.model.family;
    const FamilyNames names = names_of(family);
    const bool meta = has_meta_names(checkpoint);
    if (meta && family != Family::Llama && family != Family::Mistral) {
        return bad_input(
            "{} has Meta's names, which are known for llama and mistral and not for {}; convert it to Hugging Face's first",
            path.string(), name_of(family));
    }
    const auto weights =
        meta ? model_weights(checkpoint, meta_embedding,
                             {names.body, "tok_embeddings", "layers", "norm", "output", "rope"})
             : model_weights(checkpoint, names.embedding + ".weight",
                             {names.body, "lm_head", names.embedding, names.positions, names.layers, names.norm});
    if (!weights) return tl::unexpected(weights.error());
    for (const StoredTensor& each : *weights) {
        PLIMSOLL_TRY(const auto tensor, values_of(each));
        PLIMSOLL_TRY(const auto named,
                     meta ? from_meta(each.name, tensor, plan.model) : Result<Named>(Named(each.name, tensor)));
        if (auto taken = take(named.first, named.second); !taken) return taken;
    }
    return {};
}

}  // namespace plimsoll::engine
