// SPDX-License-Identifier: Apache-2.0
// A file's values by dotted path.
#include <algorithm>
#include <cctype>

#include "core/interop/deepspeed/deepspeed_import_parts.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

std::string small_letters(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

bool says_auto(const Json& value) {
    if (value.is_string()) return value == "auto";
    return value.is_array() && std::any_of(value.begin(), value.end(), [](const Json& each) { return each == "auto"; });
}

namespace {

bool has_auto(const Json& block, const std::string& path) {
    for (const auto& [name, value] : block.items()) {
        const std::string key = joined_key(path, name);
        if (value.is_object() ? has_auto(value, key) : says_auto(value) && !own_auto(key)) return true;
    }
    return false;
}

const Json* value_at(const Json& file, std::string_view path) {
    const Json* value = &file;
    while (true) {
        const auto dot = path.find('.');
        if (!value->is_object()) return nullptr;
        const auto found = value->find(std::string(path.substr(0, dot)));
        if (found == value->end()) return nullptr;
        value = &*found;
        if (dot == std::string_view::npos) return value;
        path.remove_prefix(dot + 1);
    }
}

}  // namespace

Import::Import(Json normalised, std::string name, Plan& into, const DeepSpeedSchema& keys,
               const DeepSpeedRelease& target)
    : file(std::move(normalised)),
      what(std::move(name)),
      plan(into),
      base(into),
      schema(keys),
      release(target),
      hugging_face(has_auto(file, "")) {}

const Json* Import::at(std::string_view path) const {
    const Json* value = value_at(file, path);
    return value && !value->is_null() && !says_auto(*value) ? value : nullptr;
}

bool Import::is_auto(std::string_view path) const {
    const Json* value = value_at(file, path);
    return value && says_auto(*value);
}

std::optional<double> Import::lax_number_at(std::string_view path, const Json& value) const {
    const auto dot = path.rfind('.');
    const bool strict = dot != std::string_view::npos && schema.strict(std::string(path.substr(0, dot)), release);
    return strict ? lax_number(value) : std::nullopt;
}

std::optional<std::int64_t> Import::integer_at(std::string_view path) const {
    const Json* value = at(path);
    if (!value) return std::nullopt;
    if (const auto number = whole(value)) return number;
    if (const auto number = lax_number_at(path, *value)) {
        const Json meant = *number;
        if (const auto integer = whole(&meant)) return integer;
    }
    stop("{}: {} is {}; a whole number belongs there", what, path, shown(*value));
}

std::optional<double> Import::number_at(std::string_view path) const {
    const Json* value = at(path);
    if (!value) return std::nullopt;
    if (value->is_number()) return value->get<double>();
    if (const auto number = lax_number_at(path, *value)) return number;
    stop("{}: {} is {}; a number belongs there", what, path, shown(*value));
}

std::optional<bool> Import::flag_at(std::string_view path) const {
    const Json* value = at(path);
    if (!value) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    if (const auto meant = lax_boolean(*value)) return meant;
    stop("{}: {} is {}; true or false belongs there", what, path, shown(*value));
}

std::optional<std::string> Import::text_at(std::string_view path) const {
    const Json* value = at(path);
    if (!value) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    stop("{}: {} is {}; a text belongs there", what, path, shown(*value));
}

void Import::remember_auto(std::string_view path) { autos.emplace_back(path); }

void Import::left_out(std::string_view path, const Json& standard, bool differs) {
    if (differs) defaults.push_back(fmt::format("{} {}", path, shown(standard)));
}

void Import::integer(std::string_view path, std::int64_t& field, std::int64_t standard) {
    if (is_auto(path)) return remember_auto(path);
    const auto value = integer_at(path);
    if (!value) left_out(path, standard, field != standard);
    field = value.value_or(standard);
}

void Import::number(std::string_view path, double& field, double standard) {
    if (is_auto(path)) return remember_auto(path);
    const auto value = number_at(path);
    if (!value) left_out(path, standard, field != standard);
    field = value.value_or(standard);
}

void Import::flag(std::string_view path, bool& field, bool standard) {
    if (is_auto(path)) return remember_auto(path);
    const auto value = flag_at(path);
    if (!value) left_out(path, standard, field != standard);
    field = value.value_or(standard);
}

}  // namespace plimsoll::deepspeed
