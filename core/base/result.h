// SPDX-License-Identifier: Apache-2.0
// What can fail at an edge (files, configuration, processes) returns Result<T>.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace plimsoll {

/// One clear sentence for a person: the cause and the cure. `kind` decides the exit code of the programs.
struct Error {
    enum class Kind {
        BadInput,  ///< what the user gave cannot work: exit code 2
        Failed,    ///< the input was fine, the work failed: exit code 1
    };
    std::string message;
    Kind kind = Kind::BadInput;
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return bad_input("heads {} does not divide …", n);`
template <class... Args>
tl::unexpected<Error> bad_input(fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{fmt::format(format, std::forward<Args>(args)...), Error::Kind::BadInput});
}

/// `return failed("cannot write {}: disk full", path);`
template <class... Args>
tl::unexpected<Error> failed(fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{fmt::format(format, std::forward<Args>(args)...), Error::Kind::Failed});
}

/// Exit code that a program ends with on this error.
inline int exit_code(const Error& error) { return error.kind == Error::Kind::BadInput ? 2 : 1; }

}  // namespace plimsoll
