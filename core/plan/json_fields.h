// SPDX-License-Identifier: Apache-2.0
// The field list walked over JSON: reading with errors that name the key, and writing in place.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/plan/fields.h"

namespace plimsoll {

/// "0 to 3", with thousands separators.
std::string allowed_text(IntRange range);
/// "0 to 1", "above 0, up to 1000".
std::string allowed_text(NumberRange range);
/// "fp32, bf16, fp16".
std::string allowed_text(std::span<const std::string_view> names);

/// The whole number that the JSON holds, however it is written (4, 4.0, 5e8); nothing for any other value.
std::optional<std::int64_t> whole_number(const Json& json);

bool in_range(std::int64_t value, IntRange range);
bool in_range(double value, NumberRange range);

/// Reads each field that the document has and leaves the others as they are. The first error stays; keys that are not
/// in the field list become notes.
class JsonReader final : public FieldVisitor {
public:
    /// `own_keys` are keys of the root beside the fields ("plimsoll"). With `raw`, text and choices take it in place
    /// of JSON that is no string: a setting "data.path=1984" means the text.
    JsonReader(const Json& root, std::initializer_list<std::string_view> own_keys,
               std::optional<std::string> raw = std::nullopt);

    void begin(std::string_view key, std::string_view help) override;
    void end() override;
    void integer(std::string_view key, std::int64_t& value, IntRange range, std::string_view help) override;
    void number(std::string_view key, double& value, NumberRange range, std::string_view help) override;
    void text(std::string_view key, std::string& value, std::string_view help) override;
    void flag(std::string_view key, bool& value, std::string_view help) override;
    void choice(std::string_view key, int& index, std::span<const std::string_view> names,
                std::string_view help) override;

    /// Call once after the walk: the notes about unknown keys, or the first error.
    Result<std::vector<std::string>> finish();

private:
    struct Level {
        const Json* object;  ///< null: the document lacks this section
        std::string prefix;  ///< "layout."
        std::vector<std::string> known;
    };
    const Json* find(std::string_view key);
    std::string dotted(std::string_view key) const;
    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args);
    std::optional<std::string> string_of(const Json& json) const;
    void note_unknown_keys();

    std::vector<Level> levels_;
    std::vector<std::string> notes_;
    std::optional<std::string> raw_;
    std::string error_;
};

/// Writes each field into an object, in place: keys that are there keep their position, unknown keys stay.
class JsonWriter final : public FieldVisitor {
public:
    explicit JsonWriter(Json& root) : objects_{&root} {}

    void begin(std::string_view key, std::string_view help) override;
    void end() override { objects_.pop_back(); }
    void integer(std::string_view key, std::int64_t& value, IntRange, std::string_view) override { set(key, value); }
    void number(std::string_view key, double& value, NumberRange, std::string_view) override { set(key, value); }
    void text(std::string_view key, std::string& value, std::string_view) override { set(key, value); }
    void flag(std::string_view key, bool& value, std::string_view) override { set(key, value); }
    void choice(std::string_view key, int& index, std::span<const std::string_view> names,
                std::string_view help) override;

private:
    void set(std::string_view key, Json value) { (*objects_.back())[std::string(key)] = std::move(value); }

    std::vector<Json*> objects_;
};

}  // namespace plimsoll
