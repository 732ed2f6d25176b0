// SPDX-License-Identifier: Apache-2.0
// Functions that can fail at an edge (files, configuration, processes) return Result<T>.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace plimsoll {

/// One clear sentence for a person: the cause and the cure. `kind` decides the exit code of the programs.
struct Error {
    enum class Kind {
        BadInput,  ///< the user's input cannot work: exit code 2
        Failed,    ///< the input was fine, the work failed: exit code 1
    };
    std::string message;
    Kind kind = Kind::BadInput;
};

/// A value or the error that prevented it. The compiler warns where a caller drops a Result, because a dropped error is
/// a failure that goes unnoticed. PLIMSOLL_TRY and PLIMSOLL_CHECK pass an error on to the caller.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
    using Base = tl::expected<T, Error>;

    /// A Result of another type hands over its base, so that the conversions of tl::expected apply to it.
    template <class U>
    static decltype(auto) as_base(U&& from) {
        return std::forward<U>(from);
    }
    template <class U>
    static const tl::expected<U, Error>& as_base(const Result<U>& from) {
        return from;
    }
    template <class U>
    static tl::expected<U, Error>&& as_base(Result<U>&& from) {
        return std::move(from);
    }
    template <class U>
    using AsBase = decltype(as_base(std::declval<U>()));
    /// Excludes copies, since T may itself be constructible from a Result (bool, for one).
    template <class U>
    static constexpr bool makes_this =
        !std::same_as<std::remove_cvref_t<U>, Result> && std::is_constructible_v<Base, AsBase<U>>;

    template <class Self, class Next>
    static auto chain(Self&& self, Next&& next) {
        if constexpr (std::is_void_v<T>) {
            using To = std::remove_cvref_t<std::invoke_result_t<Next>>;
            return self ? To(std::invoke(next)) : To(tl::unexpected(std::forward<Self>(self).error()));
        } else {
            using To = std::remove_cvref_t<std::invoke_result_t<Next, decltype(*std::forward<Self>(self))>>;
            return self ? To(std::invoke(next, *std::forward<Self>(self)))
                        : To(tl::unexpected(std::forward<Self>(self).error()));
        }
    }

public:
    Result() = default;

    /// From a value, an error (`bad_input(…)`), or a Result whose value converts to T.
    template <class U = T>
    requires makes_this<U>  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): makes_this leaves copies out
    explicit(!std::is_convertible_v<AsBase<U>, Base>) Result(U&& from) : Base(as_base(std::forward<U>(from))) {}

    /// The Result of `next`, which gets the value, or this error. (That of tl::expected knows no derived class.)
    template <class Next>
    auto and_then(Next&& next) const& {
        return chain(*this, std::forward<Next>(next));
    }
    template <class Next>
    auto and_then(Next&& next) && {
        return chain(std::move(*this), std::forward<Next>(next));
    }
};

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

/// Whether the value of a Result works by being there (a lock, states that are held): such a class says
/// `static constexpr bool must_be_kept = true`, and PLIMSOLL_CHECK refuses it.
template <class R>
inline constexpr bool must_be_kept = requires {
    std::remove_cvref_t<R>::value_type::must_be_kept;
};

}  // namespace plimsoll

#define PLIMSOLL_JOIN_TOKENS(left, right) left##right
#define PLIMSOLL_JOIN(left, right) PLIMSOLL_JOIN_TOKENS(left, right)

#define PLIMSOLL_TRY_NAMED(result, declaration, ...)                                    \
    auto&& result = __VA_ARGS__;                                                        \
    if (!result) return tl::unexpected(std::forward<decltype(result)>(result).error()); \
    declaration = *std::forward<decltype(result)>(result)

#define PLIMSOLL_CHECK_NAMED(result, ...)                                                        \
    do {                                                                                         \
        auto&& result = __VA_ARGS__;                                                             \
        static_assert(!::plimsoll::must_be_kept<decltype(result)>,                               \
                      "PLIMSOLL_CHECK would drop the value at once: hold it with PLIMSOLL_TRY"); \
        if (!result) return tl::unexpected(std::forward<decltype(result)>(result).error());      \
    } while (false)

/// Declares a variable with the value of a Result, or returns the error from the function that it stands in:
///
///     Result<Table> read_table(const fs::path& path) {
///         PLIMSOLL_TRY(const auto text, read_file(path));   // text is a std::string
///         PLIMSOLL_TRY(Table table, parse_table(text));
///         PLIMSOLL_CHECK(check_table(table));               // a Result<void>
///         return table;
///     }
///
/// Two statements in one: it needs a block of its own under `if` or `for`. The declaration holds no comma.
#define PLIMSOLL_TRY(declaration, ...) \
    PLIMSOLL_TRY_NAMED(PLIMSOLL_JOIN(plimsoll_result_, __COUNTER__), declaration, __VA_ARGS__)

/// Returns the error of a Result from the function that it stands in; a value is ignored and ends at once.
#define PLIMSOLL_CHECK(...) PLIMSOLL_CHECK_NAMED(PLIMSOLL_JOIN(plimsoll_result_, __COUNTER__), __VA_ARGS__)
