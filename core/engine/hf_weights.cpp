// SPDX-License-Identifier: Apache-2.0
#include "core/engine/hf_weights.h"

#include <set>

#include "core/base/json.h"
#include "core/engine/decoder.h"
#include "core/engine/file_io.h"
#include "core/engine/safetensors.h"

namespace plimsoll::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";

/// The files of the checkpoint. Names in an index come from elsewhere: only plain ones inside the folder are opened.
Result<std::set<std::string>> files_of(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
        return bad_input("model.weights: {} is not a folder; name one with a Hugging Face checkpoint", folder.string());
    }
    if (fs::exists(folder / single_file, error)) return std::set<std::string>{single_file};
    if (!fs::exists(folder / index_file, error)) {
        return bad_input("model.weights: {} has neither {} nor {}; save the checkpoint with safetensors",
                         folder.string(), single_file, index_file);
    }
    const auto index = read_json(folder / index_file, 64 * MiB);
    if (!index) return tl::unexpected(index.error());
    const auto map = index->find("weight_map");
    if (map == index->end() || !map->is_object() || map->empty()) {
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

torch::ScalarType scalar_type(Dtype dtype) {
    return dtype == Dtype::Bf16 ? torch::kBFloat16 : dtype == Dtype::Fp16 ? torch::kHalf : torch::kFloat;
}

bool is_buffer(const std::string& name) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") || name.ends_with("rotary_emb.inv_freq");
}

}  // namespace

Result<NamedTensors> read_hf_weights(const fs::path& folder, const Plan& plan) {
    return without_exceptions("read " + folder.string(), [&]() -> Result<NamedTensors> {
        const auto files = files_of(folder);
        if (!files) return tl::unexpected(files.error());
        const std::string prefix = names_of(plan.model.family).body + ".";
        NamedTensors weights;
        for (const std::string& file : *files) {
            auto read = read_safetensors(folder / file);
            if (!read) return tl::unexpected(read.error());
            for (auto& [name, tensor] : *read) {
                if (is_buffer(name) || (plan.model.tied_head && name == "lm_head.weight")) continue;
                const bool whole_name = name.starts_with(prefix) || name.starts_with("lm_head.");
                weights.emplace_back(whole_name ? name : prefix + name, tensor.to(scalar_type(plan.numerics.dtype)));
            }
        }
        return weights;
    });
}

}  // namespace plimsoll::engine
