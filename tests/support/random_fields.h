// SPDX-License-Identifier: Apache-2.0
// Plans with random values in range, for property tests.
#pragma once

#include <cmath>
#include <random>
#include <string>

#include "core/plan/fields.h"

namespace plimsoll {

class Randomizer final : public FieldVisitor {
public:
    explicit Randomizer(std::uint64_t seed) : random_(seed) {}

    void begin(std::string_view, std::string_view) override {}
    void end() override {}
    void integer(std::string_view, std::int64_t& value, IntRange range, std::string_view) override {
        // Small values and the borders are as likely as any others.
        switch (pick(4)) {
            case 0:
                value = range.min;
                break;
            case 1:
                value = range.max;
                break;
            case 2:
                value = std::min(range.max, range.min + static_cast<std::int64_t>(pick(64)));
                break;
            default:
                value = std::uniform_int_distribution<std::int64_t>(range.min, range.max)(random_);
        }
    }
    void number(std::string_view, double& value, NumberRange range, std::string_view) override {
        do {
            value = std::uniform_real_distribution<double>(range.min, range.max)(random_);
            if (pick(2) == 0) value = range.min + (value - range.min) * std::pow(10.0, -static_cast<double>(pick(12)));
            if (pick(8) == 0) value = range.max;
        } while (range.above_min && value <= range.min);
    }
    void text(std::string_view key, std::string& value, std::string_view) override {
        static const std::string some[] = {"", "plain", "a = \"b\"\n\t\\", "船 über", "1984", "true", "null", "[1]"};
        if (key == "preset") return;  // the test chooses it
        value = some[pick(std::size(some))];
    }
    void flag(std::string_view, bool& value, std::string_view) override { value = pick(2) == 1; }
    void choice(std::string_view, int& index, std::span<const std::string_view> names, std::string_view) override {
        index = static_cast<int>(pick(names.size()));
    }

    std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

private:
    std::mt19937_64 random_;
};

}  // namespace plimsoll
