// SPDX-License-Identifier: Apache-2.0
#include "core/architecture/family.h"

#include <algorithm>

#include "core/base/json.h"

namespace plimsoll {

namespace {

namespace fs = std::filesystem;

constexpr int deepest_group = 32;

template <class T>
Result<T> named(Result<T> result, const std::string& where) {
    if (result) return result;
    return tl::unexpected(Error{where + ": " + result.error().message, result.error().kind});
}

/// "a, given(b, 2), c": at commas that no bracket holds.
std::vector<std::string> divided(const std::string& text) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : text) {
        depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        if (c == ',' && depth == 0) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

Result<std::vector<FamilyItem>> items_from(const Json& json, int depth);

/// "self_attn.q_proj.weight : heads * head_dim, hidden"
Result<FamilyItem> tensor_from(const std::string& text) {
    const auto colon = text.find(" : ");
    if (colon == std::string::npos) return bad_input("the tensor \"{}\" has no shape (name : size, size)", text);
    FamilyItem item;
    PLIMSOLL_TRY(item.name, Template::parse(text.substr(0, colon)));
    for (const std::string& size : divided(text.substr(colon + 3))) {
        PLIMSOLL_TRY(auto expression, Expression::parse(size));
        item.shape.push_back(std::move(expression));
    }
    return item;
}

Result<std::optional<Expression>> expression_at(const Json& json, const char* key) {
    const auto found = json.find(key);
    if (found == json.end()) return std::optional<Expression>();
    if (!found->is_string()) return bad_input("{} is {}; an expression in quotes is needed", key, shown(*found));
    PLIMSOLL_TRY(auto expression, Expression::parse(found->get<std::string>()));
    return std::optional(std::move(expression));
}

Result<std::vector<std::pair<std::string, Expression>>> names_at(const Json& json, const char* key) {
    std::vector<std::pair<std::string, Expression>> names;
    const auto found = json.find(key);
    if (found == json.end()) return names;
    if (!found->is_object()) return bad_input("{} is {}; names and expressions are needed", key, shown(*found));
    for (const auto& [name, text] : found->items()) {
        if (!text.is_string()) return bad_input("{} is {}; an expression in quotes is needed", name, shown(text));
        PLIMSOLL_TRY(auto expression, named(Expression::parse(text.get<std::string>()), name));
        names.emplace_back(name, std::move(expression));
    }
    return names;
}

std::string text_at(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<FamilyItem> item_from(const Json& json, int depth) {
    if (json.is_string()) return tensor_from(json.get<std::string>());
    if (!json.is_object()) return bad_input("the item {} is no tensor and no group", shown(json));
    static const std::vector<std::string> known{"if",     "prefix", "with",   "for",   "count", "use",
                                                "active", "of",     "buffer", "items", "else"};
    for (const auto& [key, value] : json.items()) {
        if (std::ranges::find(known, key) == known.end())
            return bad_input("a group has the key {}, which is not known", key);
    }
    FamilyItem item;
    PLIMSOLL_TRY(item.condition, expression_at(json, "if"));
    PLIMSOLL_TRY(item.count, expression_at(json, "count"));
    PLIMSOLL_TRY(item.active, expression_at(json, "active"));
    PLIMSOLL_TRY(item.of, expression_at(json, "of"));
    PLIMSOLL_TRY(item.prefix, Template::parse(text_at(json, "prefix")));
    PLIMSOLL_TRY(item.with, names_at(json, "with"));
    item.loop = text_at(json, "for");
    item.use = text_at(json, "use");
    item.buffer = json.value("buffer", Json(false)) == Json(true);
    if (item.loop.empty() == item.count.has_value()) return bad_input("for and count go together");
    if (item.active && !item.of && !item.count) return bad_input("active needs count or of");
    if (json.contains("items")) {
        PLIMSOLL_TRY(item.items, items_from(json["items"], depth + 1));
    }
    if (json.contains("else")) {
        PLIMSOLL_TRY(item.otherwise, items_from(json["else"], depth + 1));
    }
    return item;
}

Result<std::vector<FamilyItem>> items_from(const Json& json, int depth) {
    if (depth > deepest_group) return bad_input("groups lie too deep in one another");
    if (!json.is_array()) return bad_input("{} is no list of tensors", shown(json));
    std::vector<FamilyItem> items;
    for (const Json& each : json) {
        PLIMSOLL_TRY(auto item, item_from(each, depth));
        items.push_back(std::move(item));
    }
    return items;
}

Result<std::vector<std::string>> texts_at(const Json& json, const char* key) {
    std::vector<std::string> texts;
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array()) return bad_input("{} is not a list of names", key);
    for (const Json& each : *found) {
        if (!each.is_string()) return bad_input("{} holds {}; a name is needed", key, shown(each));
        texts.push_back(each.get<std::string>());
    }
    return texts;
}

Result<FamilyFile> family_from(const Json& json, const std::string& name) {
    if (!json.is_object()) return bad_input("it holds no object");
    FamilyFile family;
    family.name = name;
    family.title = text_at(json, "title");
    if (family.title.empty()) return bad_input("it has no title");
    PLIMSOLL_TRY(family.model_types, texts_at(json, "model_type"));
    PLIMSOLL_TRY(family.classes, texts_at(json, "classes"));
    PLIMSOLL_TRY(family.needs, texts_at(json, "needs"));
    PLIMSOLL_TRY(family.let, names_at(json, "let"));
    PLIMSOLL_TRY(family.facts, names_at(json, "facts"));
    if (!json.contains("tensors")) return bad_input("it has no tensors");
    PLIMSOLL_TRY(family.tensors, items_from(json["tensors"], 0));
    return family;
}

Result<void> read_blocks(const Json& json, FamilyFiles& families) {
    const auto blocks = json.is_object() ? json.find("blocks") : json.end();
    if (!json.is_object() || blocks == json.end() || !blocks->is_object()) return bad_input("it has no blocks");
    for (const auto& [name, items] : blocks->items()) {
        PLIMSOLL_TRY(families.blocks[name], named(items_from(items, 0), name));
    }
    return {};
}

bool has(const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
}

}  // namespace

Result<Template> Template::parse(const std::string& text) {
    Template out;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t open = std::min(text.find('{', at), text.size());
        std::string plain = text.substr(at, open - at);
        if (open == text.size()) {
            out.parts.emplace_back(std::move(plain), std::nullopt);
            break;
        }
        const std::size_t close = text.find('}', open);
        if (close == std::string::npos) return bad_input("\"{}\" has a {{ that is not closed", text);
        PLIMSOLL_TRY(auto expression, Expression::parse(text.substr(open + 1, close - open - 1)));
        out.parts.emplace_back(std::move(plain), std::move(expression));
        at = close + 1;
    }
    return out;
}

Result<std::string> Template::filled(const Scope& scope) const {
    std::string out;
    for (const auto& [text, expression] : parts) {
        out += text;
        if (!expression) continue;
        PLIMSOLL_TRY(const Json value, expression->value(scope));
        if (value.is_string()) {
            out += value.get_ref<const std::string&>();
        } else {
            PLIMSOLL_TRY(const std::int64_t number, expression->number(scope));
            out += std::to_string(number);
        }
    }
    return out;
}

const FamilyFile* FamilyFiles::find(const std::string& name) const {
    for (const FamilyFile& family : all)
        if (has(family.model_types, name)) return &family;
    for (const FamilyFile& family : all)
        if (family.name == name || has(family.classes, name)) return &family;
    return nullptr;
}

std::vector<std::string> FamilyFiles::names() const {
    std::vector<std::string> out;
    for (const FamilyFile& family : all) out.insert(out.end(), family.model_types.begin(), family.model_types.end());
    return out;
}

Result<FamilyFiles> load_families(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".json") files.push_back(it->path());
    }
    if (error || files.empty()) {
        return bad_input("there are no families in {}: set PLIMSOLL_DATA to the folder that holds resources/",
                         folder.string());
    }
    std::ranges::sort(files);
    FamilyFiles families;
    for (const fs::path& file : files) {
        PLIMSOLL_TRY(const Json json, read_json(file, 1 * MiB));
        if (file.stem() == "common") {
            PLIMSOLL_CHECK(named(read_blocks(json, families), file.string()));
            continue;
        }
        PLIMSOLL_TRY(auto family, named(family_from(json, file.stem().string()), file.string()));
        families.all.push_back(std::move(family));
    }
    return families;
}

}  // namespace plimsoll
