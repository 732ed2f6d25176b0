// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/json.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

/// Words that YAML 1.1 takes for something else.
bool is_reserved(std::string word) {
    constexpr std::array<std::string_view, 11> reserved{"y",    "n",     "yes",  "no", "on", "off",
                                                        "true", "false", "null", "~",  ""};
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::find(reserved.begin(), reserved.end(), word) != reserved.end();
}

bool is_plain(const std::string& word) {
    const auto fits = [](unsigned char c) {
        return c < 128 && (std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/');
    };
    return !is_reserved(word) && std::all_of(word.begin(), word.end(), fits) &&
           (std::isalpha(static_cast<unsigned char>(word.front())) || word.front() == '/');
}

/// PyYAML takes 6e-05 for a word: the mantissa needs a point.
std::string number(double value) {
    std::string text = digits(value);
    const std::size_t exponent = text.find('e');
    if (text.find('.') == std::string::npos) {
        text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
    }
    return text;
}

void emit(YAML::Emitter& out, const Json& value) {
    if (value.is_object()) {
        if (value.empty()) {
            out << YAML::Flow << YAML::BeginMap << YAML::EndMap;
            return;
        }
        out << YAML::BeginMap;
        for (const auto& [key, each] : value.items()) {
            out << YAML::Key;
            emit(out, key);
            out << YAML::Value;
            emit(out, each);
        }
        out << YAML::EndMap;
    } else if (value.is_array()) {
        out << (value.empty() ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
        for (const Json& each : value) emit(out, each);
        out << YAML::EndSeq;
    } else if (value.is_string()) {
        const std::string& word = value.get_ref<const std::string&>();
        if (is_plain(word)) {
            out << word;
        } else {
            out << YAML::DoubleQuoted << word;
        }
    } else if (value.is_number_float()) {
        out << number(value.get<double>());
    } else if (value.is_number_integer()) {
        out << value.get<std::int64_t>();
    } else if (value.is_boolean()) {
        out << value.get<bool>();
    } else {
        out << YAML::Null;
    }
}

}  // namespace

std::string to_yaml(const Json& document) {
    YAML::Emitter out;
    out.SetNullFormat(YAML::LowerNull);
    emit(out, document);
    return std::string(out.c_str()) + "\n";
}

}  // namespace plimsoll::exports
