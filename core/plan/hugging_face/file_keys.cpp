// SPDX-License-Identifier: Apache-2.0
#include "core/plan/hugging_face/file_keys.h"

#include <algorithm>

#include "core/base/json.h"

namespace plimsoll {

bool is_neutral(const Json& value, std::string_view neutral) {
    if (value.is_null()) return true;
    if (neutral.empty()) {
        return value == Json(false) || (value.is_number() && value == Json(0)) ||
               (value.is_structured() && value.empty()) ||
               (value.is_string() && value.get_ref<const std::string&>().empty());
    }
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    while (!neutral.empty()) {
        const auto bar = std::min(neutral.find('|'), neutral.size());
        if (text == neutral.substr(0, bar)) return true;
        neutral.remove_prefix(std::min(bar + 1, neutral.size()));
    }
    return false;
}

const Json& value_under(const Json& document, const char* key) {
    static const Json none;
    const auto found = document.find(key);
    return found == document.end() ? none : *found;
}

}  // namespace plimsoll
