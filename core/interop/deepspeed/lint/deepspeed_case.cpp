// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/lint/deepspeed_case.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"

namespace plimsoll::deepspeed {

namespace {

std::string block_of(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == std::string_view::npos ? "" : std::string(path.substr(0, dot));
}

}  // namespace

void Case::add(DeepSpeedFinding::Level level, std::string_view rule, std::string_view key, std::string sentence) {
    lint.findings.push_back({level, std::string(rule), std::string(key), std::move(sentence)});
}

const Json* Case::at(std::string_view path) const {
    const Json* value = &file;
    while (true) {
        const auto dot = path.find('.');
        if (!value->is_object()) return nullptr;
        const auto found = value->find(std::string(path.substr(0, dot)));
        if (found == value->end()) return nullptr;
        value = &*found;
        if (dot == std::string_view::npos) break;
        path.remove_prefix(dot + 1);
    }
    return value->is_string() && *value == "auto" ? nullptr : value;
}

bool Case::flag(std::string_view path) const {
    const Json* value = at(path);
    const Json standard = value ? *value : schema.default_in(path, release);
    if (standard.is_string()) {
        // Elsewhere than in a strict block Python takes any text but an empty one for true.
        const bool strict = schema.strict(block_of(path), release);
        return strict ? lax_boolean(standard).value_or(false) : standard != "";
    }
    return standard.is_boolean() ? standard.get<bool>() : standard.is_number() && standard != 0;
}

double Case::number(std::string_view path) const {
    const Json* value = at(path);
    const Json standard = value ? *value : schema.default_in(path, release);
    if (standard.is_string() && schema.strict(block_of(path), release)) return lax_number(standard).value_or(0);
    return standard.is_number() ? standard.get<double>() : 0;
}

std::string Case::text(std::string_view path) const {
    const Json* value = at(path);
    const Json standard = value ? *value : schema.default_in(path, release);
    return standard.is_string() ? standard.get<std::string>() : "";
}

std::int64_t Case::stage() const {
    const Json* zero = at("zero_optimization");
    if (zero && zero->is_boolean()) return zero->get<bool>() ? 1 : 0;
    return static_cast<std::int64_t>(std::clamp(number("zero_optimization.stage"), 0.0, 3.0));
}

std::string Case::offload(std::string_view block) const {
    if (block == "offload_optimizer" && flag("zero_optimization.cpu_offload")) return "cpu";
    if (block == "offload_param" && flag("zero_optimization.cpu_offload_param")) return "cpu";
    const std::string path = fmt::format("zero_optimization.{}", block);
    if (const Json* value = at(path); !value || !value->is_object()) return "none";
    return text(path + ".device");
}

std::string_view dtype_word(std::string_view text) {
    constexpr std::string_view torch = "torch.";
    if (text.starts_with(torch)) {
        text.remove_prefix(torch.size());
        return text == "float32" || text == "float16" || text == "bfloat16" ? dtype_word(text) : "";
    }
    if (text == "fp32" || text == "float32" || text == "float") return "fp32";
    if (text == "fp16" || text == "float16" || text == "half") return "fp16";
    if (text == "bf16" || text == "bfloat16") return "bf16";
    return "";
}

std::optional<std::int64_t> whole(const Json* value) {
    if (!value || !value->is_number()) return std::nullopt;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    if (value->is_number_integer()) return value->get<std::int64_t>();
    const double number = value->get<double>();
    if (std::floor(number) != number || std::abs(number) > 0x1p62) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

}  // namespace plimsoll::deepspeed
