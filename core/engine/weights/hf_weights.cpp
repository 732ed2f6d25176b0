// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/hf_weights.h"

#include <set>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_config.h"
#include "core/checkpoint/stored_checkpoint.h"
#include "core/engine/base/without_exceptions.h"
#include "core/engine/model/decoder.h"
#include "core/engine/weights/safetensors.h"
#include "core/engine/weights/stored_weights.h"
#include "core/plan/hugging_face/same_model.h"

namespace plimsoll::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";

bool has_safetensors(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / single_file, error) || fs::exists(folder / index_file, error);
}

/// The files of the checkpoint. Names in an index are not trusted: only plain names inside the folder are opened.
Result<std::set<std::string>> files_of(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
        return bad_input("model.weights: {} is not a folder; name one with a Hugging Face checkpoint", folder.string());
    }
    if (fs::exists(folder / single_file, error)) return std::set<std::string>{single_file};
    if (!fs::exists(folder / index_file, error)) {
        return bad_input(
            "model.weights: {} has neither {} nor {}, nor a checkpoint of PyTorch or DeepSpeed; save the model with safetensors",
            folder.string(), single_file, index_file);
    }
    PLIMSOLL_TRY(const auto index, read_json(folder / index_file, 64 * MiB));
    const auto map = index.find("weight_map");
    if (map == index.end() || !map->is_object() || map->empty()) {
        return bad_input("{} has no weight_map", (folder / index_file).string());
    }
    std::set<std::string> files;
    for (const auto& [tensor, file] : map->items()) {
        const std::string name = file.is_string() ? file.get<std::string>() : "";
        if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") {
            return bad_input("{} puts {} into a file that is not in the folder", (folder / index_file).string(),
                             tensor);
        }
        files.insert(name);
    }
    return files;
}

/// GPT-2's masks.
bool is_mask(const std::string& name) { return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"); }

/// A layer's number in a weight's name as 0, so that all layers have the names of the first.
std::string in_first_layer(const std::string& name, const std::string& layers) {
    if (!name.starts_with(layers)) return name;
    const auto dot = name.find('.', layers.size());
    return dot == std::string::npos ? name : layers + "0" + name.substr(dot);
}

/// Names of the weights of the plan's model, in their first layer: those of a model of the same form and the smallest
/// sizes.
std::set<std::string> names_of_weights(const Plan& plan) {
    Plan tiny = plan;
    tiny.adapter = {};
    tiny.model.num_layers = 1;
    tiny.model.hidden_size = tiny.model.head_dim = tiny.model.ffn_hidden_size = 2;
    tiny.model.num_heads = tiny.model.num_kv_heads = 1;
    tiny.model.vocab_size = tiny.model.max_position = 2;
    std::set<std::string> names;
    for (const auto& [name, tensor] : parameters_of(*make_decoder(tiny, 0))) names.insert(name);
    return names;
}

/// Frequencies that a checkpoint holds, beside those of the plan's rope_theta. In half precision they have 3 digits.
bool are_of_theta(const torch::Tensor& frequencies, const Model& model) {
    const auto options = torch::TensorOptions().dtype(torch::kDouble);
    const torch::Tensor exponent =
        at::arange(0, model.head_size(), 2, options) / static_cast<double>(model.head_size());
    const torch::Tensor expected = at::pow(model.rope_theta, exponent).reciprocal();
    return frequencies.sizes() == expected.sizes() &&
           at::allclose(frequencies.to(torch::kDouble), expected, 2e-2, 1e-7);
}

/// Takes one tensor of a file into `weights`, under its name in a whole model.
class Taker {
public:
    Taker(const Plan& plan, NamedTensors& weights) : plan_(plan), weights_(weights) {}

    Result<void> take(const std::string& given, const torch::Tensor& tensor) {
        if (is_mask(given) || (plan_.model.tied_head && given == "lm_head.weight")) return {};
        if (given.ends_with("rotary_emb.inv_freq")) {
            if (are_of_theta(tensor, plan_.model)) return {};
            return bad_input(
                "{} holds other frequencies than those of model.rope_theta {}; set it to the model's, or, "
                "where the model scales its rotary positions, start from another one",
                given, plan_.model.rope_theta);
        }
        const bool whole_name = given.starts_with(prefix_) || given.starts_with("lm_head.");
        const std::string name = whole_name ? given : prefix_ + given;
        if (plan_.model.family == Family::Mixtral) {
            const auto mlp = name.find(".mlp.");
            if (mlp != std::string::npos) return take_expert(name.substr(0, mlp), name.substr(mlp + 5), tensor);
        }
        if (!is_of_the_model(name)) {
            return bad_input(
                "{} is no weight of the plan's model of {} layers, family {}: the checkpoint is of another "
                "model, or holds more than one model's weights",
                given, plan_.model.num_layers, name_of(plan_.model.family));
        }
        add(name, tensor);
        return {};
    }

private:
    bool is_of_the_model(const std::string& name) const {
        if (!known_.contains(in_first_layer(name, layers_))) return false;
        if (!name.starts_with(layers_)) return true;
        const std::string number = name.substr(layers_.size(), name.find('.', layers_.size()) - layers_.size());
        return number.size() < 7 && number.find_first_not_of("0123456789") == std::string::npos &&
               std::stoll("0" + number) < plan_.model.num_layers;
    }

    /// transformers 5 stores the experts of a Mixtral layer in two tensors (with save_original_format=False):
    /// mlp.experts.gate_up_proj [experts, 2 · ffn, hidden] and mlp.experts.down_proj [experts, hidden, ffn].
    Result<void> take_expert(const std::string& layer, const std::string& part, const torch::Tensor& tensor) {
        const std::string moe = layer + ".block_sparse_moe.";
        const bool both = part == "experts.gate_up_proj";
        if (!both && part != "experts.down_proj") {
            add(moe + part, tensor);
            return {};
        }
        const Model& m = plan_.model;
        if (tensor.dim() != 3 || tensor.size(0) != m.num_experts || (both && tensor.size(1) != 2 * m.ffn_hidden_size)) {
            return bad_input("{}.mlp.{} has another shape than in the plan's model of {} experts", layer, part,
                             m.num_experts);
        }
        for (std::int64_t e = 0; e < m.num_experts; ++e) {
            const std::string expert = fmt::format("{}experts.{}.", moe, e);
            if (!both) {
                add(expert + "w2.weight", tensor[e]);
                continue;
            }
            add(expert + "w1.weight", tensor[e].narrow(0, 0, m.ffn_hidden_size));
            add(expert + "w3.weight", tensor[e].narrow(0, m.ffn_hidden_size, m.ffn_hidden_size));
        }
        return {};
    }
    void add(std::string name, const torch::Tensor& tensor) {
        weights_.emplace_back(std::move(name), tensor.to(scalar_type(plan_.numerics.weight_dtype())));
    }

    const Plan& plan_;
    NamedTensors& weights_;
    const std::string prefix_ = names_of(plan_.model.family).body + ".";
    const std::string layers_ = fmt::format("{}{}.", prefix_, names_of(plan_.model.family).layers);
    const std::set<std::string> known_ = names_of_weights(plan_);
};

/// config.json is compared before a weight is read.
Result<void> require_same_config(const fs::path& folder, const Plan& plan) {
    const fs::path config = checkpoint_config(folder);
    if (config.empty()) return {};
    return require_same_model(config, plan, fmt::format("the model in {} (model.weights)", folder.string()));
}

}  // namespace

Result<NamedTensors> read_hf_weights(const fs::path& folder, const Plan& plan) {
    return without_exceptions("read " + folder.string(), [&]() -> Result<NamedTensors> {
        PLIMSOLL_CHECK(require_same_config(folder, plan));
        NamedTensors weights;
        Taker taker(plan, weights);
        if (!has_safetensors(folder) && find_checkpoint(folder)) {
            const auto take = [&](const std::string& name, const torch::Tensor& tensor) {
                return taker.take(name, tensor);
            };
            PLIMSOLL_CHECK(each_stored_weight(folder, plan, take));
            return weights;
        }
        PLIMSOLL_TRY(const auto files, files_of(folder));
        for (const std::string& file : files) {
            PLIMSOLL_TRY(auto read, read_safetensors(folder / file));
            for (auto& [name, tensor] : read) {
                if (auto taken = taker.take(name, tensor); !taken) {
                    return bad_input("{}: {}", (folder / file).string(), taken.error().message);
                }
            }
        }
        return weights;
    });
}

}  // namespace plimsoll::engine
