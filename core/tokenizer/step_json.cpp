// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/step_json.h"

#include "core/base/json.h"

namespace plimsoll {

std::string text_at(const Json& step, const char* key, const std::string& missing) {
    if (!step.is_object()) return missing;
    const auto found = step.find(key);
    return found != step.end() && found->is_string() ? found->get<std::string>() : missing;
}

std::string type_of(const Json& step) { return text_at(step, "type"); }

bool flag_at(const Json& step, const char* key, bool missing) {
    if (!step.is_object()) return missing;
    const auto found = step.find(key);
    return found != step.end() && found->is_boolean() ? found->get<bool>() : missing;
}

const Json& list_at(const Json& step, const char* key) {
    static const Json none = Json::array();
    if (!step.is_object()) return none;
    const auto found = step.find(key);
    return found != step.end() && found->is_array() ? *found : none;
}

Result<Pattern> pattern_at(const Json& step, const char* key) {
    const auto found = step.find(key);
    if (found != step.end() && found->is_object()) {
        if (const std::string text = text_at(*found, "Regex"); !text.empty()) return Pattern::regex(text);
        if (std::string text = text_at(*found, "String"); !text.empty()) return Pattern::literal(std::move(text));
    }
    return bad_input("the step {} has no {}: {{\"Regex\": \"…\"}} or {{\"String\": \"…\"}} is needed", type_of(step),
                     key);
}

}  // namespace plimsoll
