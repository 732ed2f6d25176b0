// SPDX-License-Identifier: Apache-2.0
#include <toml++/toml.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "core/base/json.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

toml::table to_table(const Json& object);

toml::array to_array(const Json& list) {
    toml::array array;
    for (const Json& each : list) {
        if (each.is_array())
            array.push_back(to_array(each));
        else
            array.push_back(each.get<std::string>());
    }
    return array;
}

toml::table to_table(const Json& object) {
    toml::table table;
    for (const auto& [key, value] : object.items()) {
        if (value.is_object()) table.insert(key, to_table(value));
        if (value.is_array()) table.insert(key, to_array(value));
        if (value.is_string()) table.insert(key, value.get<std::string>());
        if (value.is_boolean()) table.insert(key, value.get<bool>());
        if (value.is_number_integer()) table.insert(key, value.get<std::int64_t>());
        if (value.is_number_float()) table.insert(key, value.get<double>());
    }
    return table;
}

/// toml++ writes 17 digits of a number, also where fewer say the same: 0.00029999999999999997 for 0.0003.
std::string shortest_numbers(const std::string& text) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line); result += line + "\n") {
        const std::size_t at = line.find(" = ");
        if (at == std::string::npos) continue;
        const std::string value = line.substr(at + 3);
        double number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        const bool real = value.find_first_of(".e") != std::string::npos && std::isfinite(number);
        if (error != std::errc() || end != value.data() + value.size() || !real) continue;
        std::string shortest = digits(number);
        if (shortest.find_first_of(".e") == std::string::npos) shortest += ".0";
        line.replace(at + 3, std::string::npos, shortest);
    }
    return result;
}

}  // namespace

std::string to_toml(const Json& document) {
    std::ostringstream out;
    out << to_table(document) << "\n";
    return shortest_numbers(out.str());
}

}  // namespace plimsoll::exports
