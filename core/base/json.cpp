// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"

#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/file.h"

namespace plimsoll {

namespace {

constexpr std::size_t max_depth = 100;
constexpr std::size_t max_keys = 2'000'000;

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

/// "[json.exception.out_of_range.406] number overflow …" -> "number overflow …".
std::string without_tag(std::string text) {
    if (const auto tag = text.find("] "); tag != std::string::npos) text = text.substr(tag + 2);
    return text;
}

/// The parser quotes what it read last, which may be no UTF-8; an error is.
std::string as_utf8(const std::string& text) {
    return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

/// Builds the document as it is parsed. The parser's own builder would let the last of two equal keys win, and it
/// searches the object for each new key, which takes time in proportion to the square of the keys.
class DocumentBuilder : public nlohmann::json_sax<Json> {
public:
    Json take() { return std::move(root_); }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t&) override { return put(value); }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t&) override { return false; }

    bool start_object(std::size_t) override { return begin(Json::object()); }
    bool key(string_t& name) override {
        if (!open_.back().keys.insert(name).second)
            throw Refused{fmt::format("the key {} stands twice in one object; keep one", shown(Json(name)))};
        if (++keys_ > max_keys) throw Refused{fmt::format("there are more than {} keys", max_keys)};
        key_ = std::move(name);
        return true;
    }
    bool end_object() override { return end(); }
    bool start_array(std::size_t) override { return begin(Json::array()); }
    bool end_array() override { return end(); }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        if (const auto* at = dynamic_cast<const Json::parse_error*>(&error)) throw *at;
        throw Refused{"not valid JSON: " + as_utf8(without_tag(error.what()))};
    }

private:
    struct Open {
        Json* value;
        std::unordered_set<std::string> keys;
    };

    Json* add(Json value) {
        if (open_.empty()) return &(root_ = std::move(value));
        Json& parent = *open_.back().value;
        if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
        // Appended as to the vector that it is: key() has looked for the key already.
        std::vector<std::pair<const std::string, Json>>& members = parent.get_ref<Json::object_t&>();
        return &members.emplace_back(std::move(key_), std::move(value)).second;
    }
    bool put(Json value) {
        add(std::move(value));
        return true;
    }
    bool begin(Json empty) {
        if (open_.size() == max_depth) throw Refused{fmt::format("nested deeper than {} levels", max_depth)};
        open_.push_back({add(std::move(empty)), {}});
        return true;
    }
    bool end() {
        open_.pop_back();
        return true;
    }

    Json root_;
    std::vector<Open> open_;
    std::string key_;
    std::size_t keys_ = 0;
};

}  // namespace

KeptJson::KeptJson() : KeptJson(Json::object()) {}

KeptJson::KeptJson(Json json) : json_(std::make_shared<const Json>(std::move(json))) {}

Result<Json> parse_json(std::string_view text, const std::string& what) {
    try {
        DocumentBuilder builder;
        Json::sax_parse(text.begin(), text.end(), &builder);
        return builder.take();
    } catch (const Refused& refused) {
        return bad_input("{}: {}", what, refused.reason);
    } catch (const Json::parse_error& error) {
        const Position at = position_of(text, error.byte);
        std::string reason = without_tag(error.what());
        if (const auto cut = reason.find(": "); cut != std::string::npos) reason = reason.substr(cut + 2);
        return bad_input("{}, line {}, column {}: not valid JSON: {}", what, at.line, at.column, as_utf8(reason));
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
