// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/post_processor.h"

#include "core/base/json.h"
#include "core/tokenizer/step_json.h"

namespace plimsoll {

namespace {

Result<TokenId> id_from(const Json& json) {
    if (!json.is_number_integer() || json.get<std::int64_t>() < 0 || json.get<std::int64_t>() > 4'000'000) {
        return bad_input("{} is no id of a token", shown(json));
    }
    return static_cast<TokenId>(json.get<std::int64_t>());
}

/// ["[SEP]", 102]
Result<TokenId> named_id(const Json& json, const char* key) {
    const Json& pair = list_at(json, key);
    if (pair.size() != 2) return bad_input("the post-processor {} needs {}: [\"token\", id]", type_of(json), key);
    return id_from(pair[1]);
}

Result<std::vector<TokenId>> ids_of(const Json& json, const std::string& name) {
    const auto all = json.find("special_tokens");
    const auto found = all != json.end() && all->is_object() ? all->find(name) : json.end();
    if (all == json.end() || !all->is_object() || found == all->end()) {
        return bad_input("the template uses the token {}, which special_tokens does not name", shown(Json(name)));
    }
    std::vector<TokenId> ids;
    for (const Json& each : list_at(*found, "ids")) {
        PLIMSOLL_TRY(const TokenId id, id_from(each));
        ids.push_back(id);
    }
    return ids;
}

Result<PostProcessor> template_from(const Json& json) {
    PostProcessor out;
    bool seen = false;
    for (const Json& part : list_at(json, "single")) {
        if (!part.is_object()) return bad_input("the part {} of the template is not understood", shown(part));
        if (part.contains("Sequence")) {
            seen = true;
        } else if (const auto token = part.find("SpecialToken"); token != part.end()) {
            PLIMSOLL_TRY(const auto ids, ids_of(json, text_at(*token, "id")));
            auto& side = seen ? out.behind : out.before;
            side.insert(side.end(), ids.begin(), ids.end());
        }
    }
    if (!seen) return bad_input("the template for a single text does not hold the text (Sequence)");
    return out;
}

}  // namespace

Result<PostProcessor> post_processor_from(const Json& json) {
    if (json.is_null()) return PostProcessor();
    const std::string type = type_of(json);
    if (type == "ByteLevel") return PostProcessor();
    if (type == "TemplateProcessing") return template_from(json);
    if (type == "BertProcessing" || type == "RobertaProcessing") {
        PLIMSOLL_TRY(const TokenId cls, named_id(json, "cls"));
        PLIMSOLL_TRY(const TokenId sep, named_id(json, "sep"));
        return PostProcessor{{cls}, {sep}};
    }
    if (type == "Sequence") {
        PostProcessor out;
        for (const Json& each : list_at(json, "processors")) {
            PLIMSOLL_TRY(const PostProcessor step, post_processor_from(each));
            out.before.insert(out.before.begin(), step.before.begin(), step.before.end());
            out.behind.insert(out.behind.end(), step.behind.begin(), step.behind.end());
        }
        return out;
    }
    return bad_input("the post-processor {} is not known", shown(json));
}

}  // namespace plimsoll
