// SPDX-License-Identifier: Apache-2.0
// An exported text as options and values, for rules that tools have on them.
#pragma once

#include <toml++/toml.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/interop/exports/export_target.h"

namespace plimsoll {

/// "--num-layers" -> "32"; a flag -> ""; for TOML and YAML "section.key". Variables in front of a command stand under
/// their names.
class ToolOptions {
public:
    /// Error-free for exports to megatron, torchtitan, torchtitan-0.3, accelerate-fsdp, axolotl and llama-factory.
    static ToolOptions of(std::string_view target, const std::string& text);

    bool has(const std::string& name) const { return values_.contains(name); }
    std::string text(const std::string& name, const std::string& otherwise = "") const;
    std::int64_t number(const std::string& name, std::int64_t otherwise) const;
    double real(const std::string& name, double otherwise) const;
    /// A list of lists of words in TOML.
    const std::vector<std::vector<std::string>>& stages() const { return stages_; }

private:
    void read_command(const std::string& text);
    void read_toml(const std::string& text);
    void read_yaml(const std::string& text);
    std::map<std::string, std::string> values_;
    std::vector<std::vector<std::string>> stages_;
};

namespace tool_options {

/// As a shell splits it: quotes, and a backslash before the end of a line.
inline std::vector<std::string> shell_words(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool open = false, quoted = false;
    for (const char c : text) {
        if (c == '\'') {
            quoted = !quoted;
            open = true;
        } else if (!quoted && (c == ' ' || c == '\n' || c == '\\')) {
            if (open) words.push_back(word);
            word.clear();
            open = false;
        } else {
            word += c;
            open = true;
        }
    }
    if (open) words.push_back(word);
    return words;
}

}  // namespace tool_options

inline void ToolOptions::read_command(const std::string& text) {
    const std::vector<std::string> words = tool_options::shell_words(text);
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word.starts_with("--")) {
            const bool flag = at + 1 == words.size() || words[at + 1].starts_with("--");
            values_[word] = flag ? "" : words[at + 1];
        } else if (const std::size_t equals = word.find('='); at == 0 && equals != std::string::npos) {
            values_[word.substr(0, equals)] = word.substr(equals + 1);
        }
    }
}

inline void ToolOptions::read_toml(const std::string& text) {
    const toml::table file = toml::parse(text);
    for (const auto& [section, block] : file) {
        for (const auto& [key, value] : *block.as_table()) {
            const std::string name = std::string(section.str()) + "." + std::string(key.str());
            if (const toml::array* list = value.as_array()) {
                for (const auto& stage : *list) {
                    auto& words = stages_.emplace_back();
                    for (const auto& word : *stage.as_array()) words.push_back(*word.value<std::string>());
                }
            } else if (const auto number = value.value_exact<std::int64_t>()) {
                values_[name] = std::to_string(*number);
            } else if (const auto real = value.value_exact<double>()) {
                values_[name] = fmt::format("{}", *real);
            } else if (const auto truth = value.value_exact<bool>()) {
                values_[name] = *truth ? "true" : "false";
            } else {
                values_[name] = *value.value<std::string>();
            }
        }
    }
}

inline void ToolOptions::read_yaml(const std::string& text) {
    for (const auto& each : YAML::Load(text)) {
        const auto key = each.first.as<std::string>();
        if (each.second.IsScalar()) values_[key] = each.second.as<std::string>();
        if (!each.second.IsMap()) continue;
        values_[key] = "";
        for (const auto& inner : each.second)
            if (inner.second.IsScalar())
                values_[key + "." + inner.first.as<std::string>()] = inner.second.as<std::string>();
    }
}

inline ToolOptions ToolOptions::of(std::string_view target, const std::string& text) {
    ToolOptions options;
    if (target == "megatron" || target == "torchtitan-0.3")
        options.read_command(text);
    else if (target == "torchtitan")
        options.read_toml(text);
    else
        options.read_yaml(text);
    return options;
}

inline std::string ToolOptions::text(const std::string& name, const std::string& otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
}

inline std::int64_t ToolOptions::number(const std::string& name, std::int64_t otherwise) const {
    return has(name) ? std::stoll(text(name)) : otherwise;
}

inline double ToolOptions::real(const std::string& name, double otherwise) const {
    return has(name) ? std::stod(text(name)) : otherwise;
}

}  // namespace plimsoll
