// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"

#include <set>
#include <vector>

#include "core/base/file.h"

namespace plimsoll {

namespace {

constexpr int max_depth = 100;

struct Position {
    std::size_t line = 1;
    std::size_t column = 1;
};

Position position_of(std::string_view text, std::size_t byte) {
    Position at;
    for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
        if (text[i] == '\n') {
            ++at.line;
            at.column = 1;
        } else {
            ++at.column;
        }
    }
    return at;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& what) {
    std::vector<std::set<std::string>> keys;
    std::string duplicate;
    bool too_deep = false;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
        using Event = Json::parse_event_t;
        if (depth > max_depth) too_deep = true;
        if (event == Event::object_start) keys.emplace_back();
        if (event == Event::object_end) keys.pop_back();
        if (event == Event::key && !keys.back().insert(value.get<std::string>()).second && duplicate.empty()) {
            duplicate = value.get<std::string>();
        }
        return !too_deep;
    };
    try {
        // The depth is counted before parsing: the parser's own recursion must not be what finds it out.
        int depth = 0;
        bool in_string = false;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const char c = text[i];
            if (in_string) {
                if (c == '\\') ++i;
                if (c == '"') in_string = false;
                continue;
            }
            if (c == '"') in_string = true;
            if (c == '{' || c == '[') ++depth;
            if (c == '}' || c == ']') --depth;
            if (depth > max_depth) return bad_input("{}: nested deeper than {} levels", what, max_depth);
        }
        Json json = Json::parse(text.begin(), text.end(), watch);
        if (!duplicate.empty()) return bad_input("{}: the key \"{}\" stands twice in one object; keep one", what, duplicate);
        return json;
    } catch (const Json::parse_error& error) {
        const Position at = position_of(text, error.byte);
        std::string reason = error.what();
        if (const auto cut = reason.find("syntax error"); cut != std::string::npos) reason = reason.substr(cut);
        return bad_input("{}, line {}, column {}: not valid JSON: {}", what, at.line, at.column, reason);
    } catch (const Json::exception& error) {
        return bad_input("{}: not valid JSON: {}", what, error.what());
    }
}

Result<Json> read_json(const std::filesystem::path& path) {
    return read_file(path).and_then([&](const std::string& text) { return parse_json(text, path.string()); });
}

Result<void> write_json(const std::filesystem::path& path, const Json& json) {
    return write_file_atomic(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    return text;
}

}  // namespace plimsoll
