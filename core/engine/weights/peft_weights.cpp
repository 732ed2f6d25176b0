// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/peft_weights.h"

#include <map>
#include <set>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/engine/base/without_exceptions.h"
#include "core/engine/model/decoder.h"
#include "core/engine/weights/hf_export.h"
#include "core/engine/weights/hf_weights.h"
#include "core/engine/weights/safetensors.h"
#include "core/plan/adapter.h"
#include "core/plan/hugging_face/peft_config.h"

namespace plimsoll::engine {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view peft_prefix = "base_model.model.";
constexpr std::string_view down = ".lora_A.weight", up = ".lora_B.weight";

std::string joined(std::string_view module, std::string_view suffix) { return fmt::format("{}{}", module, suffix); }

std::string layer_prefix(const Plan& plan, std::int64_t layer) {
    const FamilyNames names = names_of(plan.model.family);
    return fmt::format("{}.{}.{}.", names.body, names.layers, layer);
}

/// Names of all adapters of the plan.
std::set<std::string> adapter_names(const Plan& plan) {
    std::set<std::string> names;
    for (std::int64_t layer = 0; layer < plan.model.num_layers; ++layer) {
        for (const LayerMatrix& matrix : adapted_matrices(plan)) {
            const std::string module = joined(layer_prefix(plan, layer), matrix.module);
            names.insert(joined(module, down));
            names.insert(joined(module, up));
        }
    }
    return names;
}

Result<NamedTensors> base_weights(const Plan& plan) {
    Plan base = plan;
    base.adapter = {};
    if (!plan.model.weights.empty()) return read_hf_weights(plan.model.weights, base);
    const auto decoder = make_decoder(base, static_cast<std::uint64_t>(plan.training.seed));
    NamedTensors weights;
    for (const auto& [name, tensor] : parameters_of(*decoder)) weights.emplace_back(name, tensor.detach());
    return weights;
}

}  // namespace

NamedTensors with_peft_names(NamedTensors adapters) {
    for (auto& [name, tensor] : adapters) name = joined(peft_prefix, name);
    return adapters;
}

NamedTensors without_peft_names(NamedTensors adapters) {
    for (auto& [name, tensor] : adapters) {
        if (name.starts_with(peft_prefix)) name.erase(0, peft_prefix.size());
    }
    return adapters;
}

Result<NamedTensors> read_peft_weights(const fs::path& folder, const Plan& plan) {
    return without_exceptions("read " + folder.string(), [&]() -> Result<NamedTensors> {
        PLIMSOLL_CHECK(require_same_adapter(folder, plan));
        const fs::path path = folder / adapter_file;
        PLIMSOLL_TRY(auto read, read_safetensors(path));
        NamedTensors adapters = without_peft_names(std::move(read));
        const std::set<std::string> wanted = adapter_names(plan);
        for (auto& [name, tensor] : adapters) {
            if (!wanted.contains(name)) {
                return bad_input("{} holds {}, which adapter.targets {} does not name; add its matrix to them",
                                 path.string(), name, plan.adapter.targets);
            }
            tensor = tensor.to(scalar_type(plan.numerics.weight_dtype()));
        }
        return adapters;
    });
}

Result<NamedTensors> merged_weights(const Plan& plan, const NamedTensors& adapters) {
    auto weights = base_weights(plan);
    if (!weights) return weights;
    const torch::NoGradGuard no_grad;
    const std::map<std::string_view, torch::Tensor> by_name(adapters.begin(), adapters.end());
    for (const std::string& name : adapter_names(plan)) {
        if (!by_name.contains(name)) return bad_input("the adapter lacks {}; it is of another model", name);
    }
    const double scale = adapter_scale(plan.adapter);
    const bool transposed = plan.model.family == Family::Gpt2;
    constexpr std::string_view suffix = ".weight";
    for (auto& [name, tensor] : *weights) {
        if (!name.ends_with(suffix)) continue;
        const std::string module = name.substr(0, name.size() - suffix.size());
        const auto a = by_name.find(joined(module, down)), b = by_name.find(joined(module, up));
        if (a == by_name.end() || b == by_name.end()) continue;
        torch::Tensor added = at::mm(b->second.to(torch::kFloat), a->second.to(torch::kFloat)).mul_(scale);
        if (transposed) added = added.t();
        if (added.sizes() != tensor.sizes()) {
            return bad_input("{} has another shape than its adapter; they are of different models", name);
        }
        tensor = added.add_(tensor.to(torch::kFloat)).to(tensor.scalar_type());
    }
    return weights;
}

Result<void> merge_adapter(const Plan& plan, const fs::path& folder, const fs::path& out) {
    return without_exceptions("merge " + folder.string(), [&]() -> Result<void> {
        PLIMSOLL_TRY(const auto adapters, read_peft_weights(folder, plan));
        PLIMSOLL_TRY(const auto weights, merged_weights(plan, adapters));
        std::error_code error;
        if (!fs::create_directory(out, error)) {
            return bad_input("cannot make the folder {}: {}", out.string(), error ? error.message() : "it is there");
        }
        auto done = write_safetensors(out / model_file, weights, {{"format", "pt"}});
        if (done) done = write_json(out / config_file, hf_config(plan));
        if (!done) fs::remove_all(out, error);
        return done;
    });
}

}  // namespace plimsoll::engine
