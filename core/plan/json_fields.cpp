// SPDX-License-Identifier: Apache-2.0
#include "core/plan/json_fields.h"

#include <algorithm>
#include <cmath>

#include "core/base/nearest.h"
#include "core/base/units.h"

namespace plimsoll {

namespace {

constexpr std::size_t longest_text = 10'000;
constexpr std::size_t most_notes = 50;

}  // namespace

std::optional<std::int64_t> whole_number(const Json& json) {
    if (json.is_number_unsigned()) {
        const auto value = json.get<std::uint64_t>();
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
        return static_cast<std::int64_t>(value);
    }
    if (json.is_number_integer()) return json.get<std::int64_t>();
    if (!json.is_number_float()) return std::nullopt;
    const double value = json.get<double>();
    constexpr double limit = 9223372036854775808.0;  // 2^63
    if (!(value >= -limit && value < limit) || value != std::floor(value)) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::string allowed_text(IntRange range) {
    return fmt::format("{} to {}", format_count(range.min), format_count(range.max));
}

std::string allowed_text(NumberRange range) {
    return range.above_min ? fmt::format("above {:g}, up to {:g}", range.min, range.max)
                           : fmt::format("{:g} to {:g}", range.min, range.max);
}

std::string allowed_text(std::span<const std::string_view> names) { return fmt::format("{}", fmt::join(names, ", ")); }

bool in_range(std::int64_t value, IntRange range) { return value >= range.min && value <= range.max; }

bool in_range(double value, NumberRange range) {
    // Written so that NaN is out of range.
    return (range.above_min ? value > range.min : value >= range.min) && value <= range.max;
}

JsonReader::JsonReader(const Json& root, std::initializer_list<std::string_view> own_keys,
                       std::optional<std::string> raw)
    : raw_(std::move(raw)) {
    levels_.push_back({root.is_object() ? &root : nullptr, "", {own_keys.begin(), own_keys.end()}});
}

std::string JsonReader::dotted(std::string_view key) const { return levels_.back().prefix + std::string(key); }

template <class... Args>
void JsonReader::fail(fmt::format_string<Args...> format, Args&&... args) {
    if (error_.empty()) error_ = fmt::format(format, std::forward<Args>(args)...);
}

const Json* JsonReader::find(std::string_view key) {
    Level& level = levels_.back();
    level.known.emplace_back(key);
    if (!level.object) return nullptr;
    const auto found = level.object->find(level.known.back());
    return found == level.object->end() ? nullptr : &*found;
}

void JsonReader::begin(std::string_view key, std::string_view) {
    const Json* json = find(key);
    if (json && !json->is_object()) {
        fail("{} is {}; an object {{ … }} is needed", dotted(key), shown(*json));
        json = nullptr;
    }
    levels_.push_back({json, dotted(key) + ".", {}});
}

void JsonReader::end() {
    note_unknown_keys();
    levels_.pop_back();
}

void JsonReader::integer(std::string_view key, std::int64_t& value, IntRange range, std::string_view) {
    const Json* json = find(key);
    if (!json) return;
    const std::optional<std::int64_t> whole = whole_number(*json);
    if (!whole) {
        fail("{} is {}; a whole number from {} is needed", dotted(key), shown(*json), allowed_text(range));
    } else if (!in_range(*whole, range)) {
        fail("{} is {}; allowed: {}", dotted(key), shown(*json), allowed_text(range));
    } else {
        value = *whole;
    }
}

void JsonReader::number(std::string_view key, double& value, NumberRange range, std::string_view) {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_number()) {
        fail("{} is {}; a number is needed ({})", dotted(key), shown(*json), allowed_text(range));
    } else if (!in_range(json->get<double>(), range)) {
        fail("{} is {}; allowed: {}", dotted(key), shown(*json), allowed_text(range));
    } else {
        value = json->get<double>();
    }
}

std::optional<std::string> JsonReader::string_of(const Json& json) const {
    if (json.is_string()) return json.get<std::string>();
    return raw_;
}

void JsonReader::text(std::string_view key, std::string& value, std::string_view) {
    const Json* json = find(key);
    if (!json) return;
    const std::optional<std::string> text = string_of(*json);
    if (!text) {
        fail("{} is {}; text in quotes is needed", dotted(key), shown(*json));
    } else if (text->size() > longest_text) {
        fail("{} holds {} bytes; at most {} are allowed", dotted(key), format_count(std::int64_t(text->size())),
             format_count(longest_text));
    } else if (text->find('\0') != std::string::npos) {
        fail("{} holds a NUL character; take it out", dotted(key));
    } else {
        value = *text;
    }
}

void JsonReader::flag(std::string_view key, bool& value, std::string_view) {
    const Json* json = find(key);
    if (!json) return;
    if (json->is_boolean()) {
        value = json->get<bool>();
    } else {
        fail("{} is {}; true or false is needed", dotted(key), shown(*json));
    }
}

void JsonReader::choice(std::string_view key, int& index, std::span<const std::string_view> names, std::string_view) {
    const Json* json = find(key);
    if (!json) return;
    const std::optional<std::string> text = string_of(*json);
    const auto found = text ? std::find(names.begin(), names.end(), *text) : names.end();
    if (found == names.end()) {
        const std::string hint = text ? did_you_mean(*text, {names.begin(), names.end()}) : "";
        fail("{} is {}; allowed: {}{}", dotted(key), text ? shown(Json(*text)) : shown(*json), allowed_text(names),
             hint);
    } else {
        index = static_cast<int>(found - names.begin());
    }
}

void JsonReader::note_unknown_keys() {
    const Level& level = levels_.back();
    if (!level.object) return;
    for (const auto& [key, value] : level.object->items()) {
        if (std::find(level.known.begin(), level.known.end(), key) != level.known.end()) continue;
        // A hostile document may hold any number of them, each costing a search for the nearest name.
        if (notes_.size() == most_notes) notes_.push_back("more keys are not known; they are kept and not used");
        if (notes_.size() > most_notes) return;
        notes_.push_back(fmt::format("{}{} is not a key that this version knows; it is kept and not used{}",
                                     level.prefix, key.substr(0, 60), did_you_mean(key, level.known)));
    }
}

Result<std::vector<std::string>> JsonReader::finish() {
    note_unknown_keys();
    if (!error_.empty()) return bad_input("{}", error_);
    return std::move(notes_);
}

void JsonWriter::begin(std::string_view key, std::string_view) {
    Json& section = (*objects_.back())[std::string(key)];
    if (!section.is_object()) section = Json::object();
    objects_.push_back(&section);
}

void JsonWriter::choice(std::string_view key, int& index, std::span<const std::string_view> names, std::string_view) {
    set(key, std::string(names[static_cast<std::size_t>(index)]));
}

}  // namespace plimsoll
