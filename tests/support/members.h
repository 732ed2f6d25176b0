// SPDX-License-Identifier: Apache-2.0
// How many members a struct has.
#pragma once

#include <cstddef>
#include <utility>

namespace plimsoll {

struct AnyValue {
    template <class T>
    operator T() const;  // only asked for in unevaluated code
};

template <class T, std::size_t... index>
constexpr bool takes(std::index_sequence<index...>) {
    return requires { T{(static_cast<void>(index), AnyValue{})...}; };
}

/// Of an aggregate with at most `most` members.
template <class T, std::size_t most = 80>
constexpr std::size_t members() {
    if constexpr (most == 0 || takes<T>(std::make_index_sequence<most>()))
        return most;
    else
        return members<T, most - 1>();
}

}  // namespace plimsoll
