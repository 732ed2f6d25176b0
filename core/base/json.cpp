// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"

#include <functional>
#include <set>
#include <vector>

#include "core/base/file.h"

namespace plimsoll {

namespace {

constexpr int max_depth = 100;
constexpr std::size_t max_keys = 20'000;

struct Refused {
    std::string reason;
};

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

/// The parser's own recursion must not be what finds out that a document is nested too deep.
bool too_deep(std::string_view text) {
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
        if (depth > max_depth) return true;
    }
    return false;
}

/// Sees the keys as they are parsed: the parser itself would let the last of two equal keys win, and its search
/// for a key takes time in proportion to the keys that are there.
class KeyWatch {
public:
    bool operator()(int, Json::parse_event_t event, Json& value) {
        using Event = Json::parse_event_t;
        if (event == Event::object_start) keys_.emplace_back();
        if (event == Event::object_end) keys_.pop_back();
        if (event == Event::key) add(value.get_ref<const std::string&>());
        return true;
    }

private:
    void add(const std::string& key) {
        if (!keys_.back().insert(key).second) {
            throw Refused{fmt::format("the key {} stands twice in one object; keep one", shown(Json(key)))};
        }
        if (keys_.back().size() > max_keys) throw Refused{fmt::format("an object has more than {} keys", max_keys)};
    }

    std::vector<std::set<std::string>> keys_;
};

/// "[json.exception.out_of_range.406] number overflow …" -> "number overflow …".
std::string without_tag(std::string text) {
    if (const auto tag = text.find("] "); tag != std::string::npos) text = text.substr(tag + 2);
    return text;
}

/// The parser quotes what it read last, which may be no UTF-8; an error is.
std::string as_utf8(const std::string& text) {
    return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

KeptJson::KeptJson() : KeptJson(Json::object()) {}

KeptJson::KeptJson(Json json) : json_(std::make_shared<const Json>(std::move(json))) {}

Result<Json> parse_json(std::string_view text, const std::string& what) {
    if (too_deep(text)) return bad_input("{}: nested deeper than {} levels", what, max_depth);
    try {
        KeyWatch watch;
        return Json::parse(text.begin(), text.end(), std::ref(watch));
    } catch (const Refused& refused) {
        return bad_input("{}: {}", what, refused.reason);
    } catch (const Json::parse_error& error) {
        const Position at = position_of(text, error.byte);
        std::string reason = without_tag(error.what());
        if (const auto cut = reason.find(": "); cut != std::string::npos) reason = reason.substr(cut + 2);
        return bad_input("{}, line {}, column {}: not valid JSON: {}", what, at.line, at.column, as_utf8(reason));
    } catch (const Json::exception& error) {
        return bad_input("{}: not valid JSON: {}", what, as_utf8(without_tag(error.what())));
    }
}

Result<Json> read_json(const std::filesystem::path& path, Bytes limit) {
    return read_file(path, limit).and_then([&](const std::string& text) { return parse_json(text, path.string()); });
}

Result<void> write_json(const std::filesystem::path& path, const Json& json) {
    return write_file_atomic(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() <= 40) return text;
    std::size_t cut = 37;
    while ((static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;  // never within a UTF-8 character
    return text.substr(0, cut) + "...";
}

bool valid_utf8(std::string_view text) {
    try {
        return !Json(std::string(text)).dump().empty();
    } catch (const Json::exception&) {
        return false;
    }
}

}  // namespace plimsoll
