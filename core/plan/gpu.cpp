// SPDX-License-Identifier: Apache-2.0
#include "core/plan/gpu.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/plan/machine.h"
#include "core/plan/presets.h"

namespace plimsoll {

namespace {

struct Catalogue {
    std::vector<Gpu> gpus;
    std::string error;
};

Gpu gpu_from_json(const Json& json) {
    Gpu gpu;
    gpu.name = json.at("name").get<std::string>();
    gpu.vendor = json.at("vendor").get<std::string>();
    gpu.memory_gb = json.at("memory_gb").get<double>();
    // Boards expose less than the chips hold; 92 % is what the one card without a figure (B300) is said to show.
    gpu.usable_gib = json.value("usable_gib", 0.92 * gpu.memory_gb);
    gpu.memory_gbs = json.at("memory_gbs").get<double>();
    gpu.bf16_tflops = json.value("bf16_tflops", 0.0);
    gpu.fp16_tflops = json.value("fp16_tflops", 0.0);
    gpu.fp8_tflops = json.value("fp8_tflops", 0.0);
    gpu.tf32_tflops = json.value("tf32_tflops", 0.0);
    gpu.fp32_tflops = json.at("fp32_tflops").get<double>();
    gpu.multiprocessors = json.value("multiprocessors", 100.0);
    gpu.nvlink_gbs = json.value("nvlink_gbs", 0.0);
    gpu.pcie_generation = json.value("pcie_generation", std::int64_t{0});
    gpu.tdp_watts = json.value("tdp_watts", 0.0);
    gpu.compute_capability = json.value("compute_capability", std::string());
    gpu.aliases = json.value("aliases", std::vector<std::string>());
    gpu.note = json.value("note", std::string());
    return gpu;
}

Catalogue read_catalogue() {
    const auto path = data_folder() / "resources" / "gpus.json";
    const Result<Json> json = read_json(path);
    if (!json) return {{}, json.error().message};
    Catalogue catalogue;
    try {
        for (const Json& gpu : json->at("gpus")) catalogue.gpus.push_back(gpu_from_json(gpu));
    } catch (const Json::exception& error) {
        return {{}, fmt::format("{} is not a GPU catalogue: {}", path.string(), error.what())};
    }
    return catalogue;
}

const Catalogue& catalogue() {
    static const Catalogue read = read_catalogue();
    return read;
}

/// Lower-case letters and digits only: "A100-SXM4 80GB" -> "a100sxm480gb".
std::string squeezed(const std::string& name) {
    std::string out;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte)) out += static_cast<char>(std::tolower(byte));
    }
    return out;
}

/// Lower-case words, without those that say nothing: "NVIDIA A100-80GB SXM" -> {"a100", "80gb", "sxm"}.
std::vector<std::string> words(const std::string& name) {
    static constexpr std::array noise{"nvidia", "amd", "tesla", "geforce", "instinct", "gpu"};
    std::vector<std::string> out{""};
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte)) {
            out.back() += static_cast<char>(std::tolower(byte));
        } else if (!out.back().empty()) {
            out.emplace_back();
        }
    }
    std::erase_if(out, [](const std::string& word) {
        return word.empty() || std::find(noise.begin(), noise.end(), word) != noise.end();
    });
    return out;
}

bool has_name(const Gpu& gpu, const std::string& name) {
    const auto same = [&](const std::string& other) {
        return squeezed(other) == squeezed(name) || words(other) == words(name);
    };
    return same(gpu.name) || std::any_of(gpu.aliases.begin(), gpu.aliases.end(), same);
}

/// Every word of `name` begins a word of the GPU's: "a100 80 sxm" fits "A100 SXM4 80GB".
bool has_words(const Gpu& gpu, const std::string& name) {
    const std::vector<std::string> asked = words(name);
    const std::vector<std::string> own = words(gpu.name);
    const auto begins_one = [&](const std::string& word) {
        return std::any_of(own.begin(), own.end(), [&](const std::string& other) { return other.starts_with(word); });
    };
    return !asked.empty() && std::all_of(asked.begin(), asked.end(), begins_one);
}

bool has_letters(const Gpu& gpu, const std::string& name) {
    return squeezed(name).size() >= 4 && squeezed(gpu.name).find(squeezed(name)) != std::string::npos;
}

}  // namespace

const std::vector<Gpu>& gpu_catalogue() { return catalogue().gpus; }

Result<Gpu> find_gpu(const std::string& name) {
    if (!catalogue().error.empty()) return bad_input("the GPU catalogue cannot be read: {}", catalogue().error);
    // The name itself first: plans hold it, and the estimator asks for it with each of thousands of plans.
    for (const Gpu& gpu : catalogue().gpus)
        if (gpu.name == name) return gpu;
    // From the strictest to the most tolerant reading; the first that means exactly one GPU counts.
    for (const auto reading : {has_name, has_words, has_letters}) {
        std::vector<std::string> names;
        const Gpu* match = nullptr;
        for (const Gpu& gpu : catalogue().gpus) {
            if (!reading(gpu, name)) continue;
            names.push_back(gpu.name);
            match = &gpu;
        }
        if (names.size() == 1) return *match;
        if (names.size() > 1) return bad_input("\"{}\" can mean {}; give one of them", name, fmt::join(names, " or "));
    }
    std::vector<std::string> names{"cpu"};
    for (const Gpu& gpu : catalogue().gpus) names.push_back(gpu.name);
    std::vector<std::string> known = names;
    for (const Gpu& gpu : catalogue().gpus) known.insert(known.end(), gpu.aliases.begin(), gpu.aliases.end());
    const std::string hint = did_you_mean(name, known);
    if (!hint.empty()) return bad_input("the GPU catalogue has no \"{}\"{}", name, hint);
    return bad_input("the GPU catalogue has no \"{}\"; it has: {}", name, fmt::join(names, ", "));
}

}  // namespace plimsoll
