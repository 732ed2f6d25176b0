// SPDX-License-Identifier: Apache-2.0
// Damaged inputs: random changes of valid ones, the same for the same seed.
#pragma once

#include <array>
#include <random>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace plimsoll {

class Mutations {
public:
    explicit Mutations(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

    /// One to four changes of bytes: flipped, overwritten by extreme numbers, inserted, cut out, repeated.
    std::string of_bytes(std::string bytes) {
        for (std::size_t left = 1 + below(4); left > 0; --left) change_bytes(bytes);
        return bytes;
    }

    /// One to three values of a document become others, of any type; keys are dropped and misspelt as well.
    Json of_document(Json document) {
        for (std::size_t left = 1 + below(3); left > 0; --left) change_value(document);
        return document;
    }

    /// Either of the two, as text.
    std::string of_json(const Json& document) {
        if (below(3) == 0) return of_bytes(document.dump());
        return of_document(document).dump(-1, ' ', false, Json::error_handler_t::replace);
    }

private:
    void change_bytes(std::string& bytes) {
        constexpr std::array<std::uint64_t, 8> extremes{
            0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, std::uint64_t{1} << 40, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF};
        const std::size_t at = below(bytes.size());
        const std::size_t length = std::min<std::size_t>(1 + below(16), bytes.size() - at);
        switch (below(7)) {
            case 0:
                if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
                break;
            case 1:
                if (!bytes.empty()) bytes[at] = static_cast<char>(below(256));
                break;
            case 2: {
                const std::uint64_t number = extremes[below(extremes.size())];
                for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
                    bytes[at + i] = static_cast<char>(number >> (8 * i));
                break;
            }
            case 3:
                bytes.erase(at, length);
                break;
            case 4:
                bytes.insert(at, bytes.substr(below(bytes.size()), length));
                break;
            case 5:
                bytes.insert(at, std::string(1 + below(64), static_cast<char>(below(256))));
                break;
            case 6:
                if (below(4) == 0) bytes.resize(at);
                break;
        }
    }

    Json hostile() {
        static const std::vector<Json> values{nullptr,
                                              true,
                                              0,
                                              -1,
                                              1,
                                              3,
                                              std::int64_t{1} << 40,
                                              INT64_MAX,
                                              INT64_MIN,
                                              UINT64_MAX,
                                              0.5,
                                              -0.0,
                                              1e-300,
                                              1e308,
                                              "",
                                              "auto",
                                              "none",
                                              "8",
                                              std::string(300, 'x'),
                                              "\xff\xfe bad",
                                              "a\nb\x1b[31m",
                                              Json::array(),
                                              Json::object(),
                                              Json::array({Json::array({1})}),
                                              Json::array({1, "a", nullptr}),
                                              Json{{"enabled", true}}};
        return values[below(values.size())];
    }

    /// Any value of the document, by a walk from the top.
    Json& any_of(Json& value) {
        if (!value.is_structured() || value.empty() || below(4) == 0) return value;
        auto child = value.begin();
        std::advance(child, static_cast<std::ptrdiff_t>(below(value.size())));
        return any_of(*child);
    }

    void change_value(Json& document) {
        Json& value = any_of(document);
        if (value.is_object() && !value.empty() && below(2) == 0) {
            auto key = value.begin();
            std::advance(key, static_cast<std::ptrdiff_t>(below(value.size())));
            const std::string name = key.key();
            Json kept = *key;
            value.erase(name);
            if (below(2) == 0) value[of_bytes(name)] = std::move(kept);
        } else if (value.is_array() && below(2) == 0) {
            value.push_back(value.empty() ? hostile() : value[below(value.size())]);
        } else {
            value = hostile();
        }
    }

    std::mt19937_64 random_;
};

}  // namespace plimsoll
