// SPDX-License-Identifier: Apache-2.0
// The small expressions of a family's file: "num_key_value_heads * head_dim", "layer % 2 == 0".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace plimsoll {

/// What names stand for: those of inner places first, then the keys of a config.json. A name that nothing has is null.
class Scope {
public:
    explicit Scope(const Json& config) : config_(&config) {}
    explicit Scope(const Scope& outer) : outer_(&outer) {}
    void set(std::string name, Json value) { names_.emplace_back(std::move(name), std::move(value)); }
    const Json& find(std::string_view name) const;

private:
    const Json* config_ = nullptr;
    const Scope* outer_ = nullptr;
    std::vector<std::pair<std::string, Json>> names_;
};

/// Whole numbers (+ - * // %), comparisons, and, or, not, in, `a if b else c`, 'texts', [lists], indices, and the functions
/// given(a, b, …) (the first that is not null), min, max, len. Python's syntax, so that a reader knows it.
class Expression {
public:
    static Result<Expression> parse(std::string_view text);

    /// Errors name what is missing or of the wrong kind.
    Result<Json> value(const Scope& scope) const;
    Result<std::int64_t> number(const Scope& scope) const;
    /// Null, false, 0, "" and empty lists are false.
    Result<bool> truth(const Scope& scope) const;
    const std::string& text() const { return text_; }

    struct Node;

private:
    std::string text_;
    std::shared_ptr<const Node> root_;
};

}  // namespace plimsoll
