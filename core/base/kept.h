// SPDX-License-Identifier: Apache-2.0
// A value that is made again only when what it depends on changes.
#pragma once

#include <optional>

namespace plimsoll {

template <class Value, class Key>
class Kept {
public:
    template <class Make>
    const Value& get(const Key& key, Make&& make) {
        if (!key_ || *key_ != key) {
            value_.emplace(make());
            key_ = key;
        }
        return *value_;
    }

private:
    std::optional<Key> key_;
    std::optional<Value> value_;
};

}  // namespace plimsoll
