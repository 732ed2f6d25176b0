// SPDX-License-Identifier: Apache-2.0
// A cache that computes a value only for a key that it does not hold.
#pragma once

#include <cstddef>
#include <tuple>
#include <unordered_map>

namespace plimsoll {

/// Hash of a tuple of numbers and enums.
struct TupleHash {
    template <class... Values>
    std::size_t operator()(const std::tuple<Values...>& key) const {
        std::size_t hash = 0;
        const auto mix = [&](auto value) {
            hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29;
        };
        std::apply([&](const auto&... values) { (mix(values), ...); }, key);
        return hash;
    }
};

/// Keeps one value for each key, `most` at once; references last until the next get() of another key.
template <class Value, class Key>
class Kept {
public:
    template <class Make>
    const Value& get(const Key& key, Make&& make) {
        if (last_ && last_key_ == key) return *last_;
        auto found = values_.find(key);
        if (found == values_.end()) {
            if (values_.size() >= most) values_.clear();
            found = values_.emplace(key, make()).first;
        }
        last_key_ = key;
        last_ = &found->second;
        return *last_;
    }

    static constexpr std::size_t most = 1 << 15;

private:
    std::unordered_map<Key, Value, TupleHash> values_;
    Key last_key_{};
    const Value* last_ = nullptr;
};

}  // namespace plimsoll
