// SPDX-License-Identifier: Apache-2.0
// Python's pickles as a tree of values. Nothing is looked up, imported or called: a call in the pickle stands in the
// tree as the name of the callable and its arguments.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

/// A value of a Pickle.
using PickleId = std::uint32_t;

struct PickleNode {
    enum class Kind : std::uint8_t {
        None,
        Bool,        ///< integer is 0 or 1
        Int,         ///< integer
        BigInt,      ///< text has its bytes, little-endian two's complement
        Float,       ///< real
        Text,        ///< text; not checked to be UTF-8
        ByteString,  ///< text
        Tuple,       ///< items
        List,        ///< items
        Dict,        ///< items: key, value, key, value, …
        Set,         ///< items
        Global,      ///< text: "module.name", what Python would import
        Call,        ///< callable(arguments), then state set on it and items appended to it (or keys and values set)
        Persistent,  ///< items has one value: the id by which the writer named something outside the pickle
    };
    static constexpr PickleId no_state = ~PickleId{0};
    Kind kind = Kind::None;
    PickleId callable = 0, arguments = 0, state = no_state;
    union {
        std::int64_t integer = 0;
        double real;
    };
    std::string_view text = {};  ///< lies in the Pickle
    std::vector<PickleId> items = {};
};
static_assert(sizeof(PickleNode) == 64, "metadata of 1,000 tensors on 1,000 ranks have some 27 million values");

/// What the values of a pickle may take beside its own bytes: operations of one byte make values of 64, but no tool
/// writes a pickle of nothing else.
constexpr Bytes pickle_budget(std::size_t bytes) { return 64 * MiB + 40 * static_cast<Bytes>(bytes); }

/// A pickle's values. Values may contain each other in circles, so code that walks through them has to count.
class Pickle {
public:
    /// Reads protocols 2 to 5, without buffers outside the pickle and registered extensions. Errors name `what` and the
    /// byte. Nesting costs no stack; a pickle that would take more memory than `budget` (0: pickle_budget()) is refused.
    static Result<Pickle> parse(std::string bytes, const std::string& what, Bytes budget = 0);

    PickleId root() const { return root_; }
    const PickleNode& operator[](PickleId id) const { return nodes_[id]; }

    /// Key, value, key, value, … of a dict, of an object that is filled like one (OrderedDict), or of an object's
    /// attributes; empty for any other value.
    std::span<const PickleId> entries(PickleId id) const;
    /// The value of a key or an attribute.
    std::optional<PickleId> find(PickleId id, std::string_view key) const;
    /// Elements of a tuple, a list, a set, or of a torch.Size.
    std::span<const PickleId> elements(PickleId id) const;
    /// Whether the value is a call of `callable` ("module.name").
    bool is_call(PickleId id, std::string_view callable) const;
    std::optional<std::string_view> text(PickleId id) const;
    std::optional<std::int64_t> integer(PickleId id) const;
    /// A list of whole numbers (a torch.Size).
    std::optional<std::vector<std::int64_t>> integers(PickleId id) const;

private:
    friend class PickleReader;
    std::unique_ptr<const std::string> bytes_;
    std::deque<std::string> names_;  ///< of globals, which the pickle has in two parts
    std::deque<PickleNode> nodes_;   ///< not a vector, whose growth would take the memory twice
    PickleId root_ = 0;
};

}  // namespace plimsoll
