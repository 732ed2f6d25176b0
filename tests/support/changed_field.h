// SPDX-License-Identifier: Apache-2.0
// A plan in which one field has another value, for tests that walk the list of fields.
#pragma once

#include <string>
#include <utility>

#include "core/plan/fields.h"

namespace plimsoll {

/// Gives the field with that key another value in its range.
class FieldChanger final : public FieldVisitor {
public:
    explicit FieldChanger(std::string key) : key_(std::move(key)) {}
    int changed = 0;    ///< fields that had the key
    std::string value;  ///< the new one, as a setting

    void begin(std::string_view key, std::string_view) override { prefix_ = std::string(key) + "."; }
    void end() override { prefix_.clear(); }
    void integer(std::string_view key, std::int64_t& number, IntRange range, std::string_view) override {
        if (!is_it(key)) return;
        number += number < range.max ? 1 : -1;
        value = std::to_string(number);
    }
    void number(std::string_view key, double& number, NumberRange range, std::string_view) override {
        if (!is_it(key)) return;
        number += number + 0.25 <= range.max ? 0.25 : -0.25;
        value = fmt::format("{}", number);
    }
    void text(std::string_view key, std::string& text, std::string_view) override {
        if (is_it(key)) value = text = key == "preset" ? "gpt2" : text + "another";
    }
    void flag(std::string_view key, bool& flag, std::string_view) override {
        if (!is_it(key)) return;
        flag = !flag;
        value = flag ? "true" : "false";
    }
    void choice(std::string_view key, int& index, std::span<const std::string_view> names, std::string_view) override {
        if (!is_it(key)) return;
        index = (index + 1) % static_cast<int>(names.size());
        value = std::string(names[static_cast<std::size_t>(index)]);
    }

private:
    bool is_it(std::string_view key) {
        if (prefix_ + std::string(key) != key_) return false;
        ++changed;
        return true;
    }
    std::string key_, prefix_;
};

inline Plan with_changed_field(Plan plan, const std::string& key) {
    FieldChanger changer(key);
    visit_fields(changer, plan);
    return plan;
}

}  // namespace plimsoll
