// SPDX-License-Identifier: Apache-2.0
#include <toml++/toml.h>

#include <sstream>

#include "core/interop/export_parts.h"

namespace plimsoll::exports {

namespace {

toml::table to_table(const Json& object);

toml::array to_array(const Json& list) {
    toml::array array;
    for (const Json& each : list) array.push_back(each.get<std::string>());
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

}  // namespace

std::string to_toml(const Json& document) {
    std::ostringstream out;
    out << to_table(document) << "\n";
    return out.str();
}

}  // namespace plimsoll::exports
