// SPDX-License-Identifier: Apache-2.0
#include "core/architecture/expression.h"

#include <algorithm>
#include <array>

namespace plimsoll {

struct Expression::Node {
    enum class Kind : std::uint8_t { Value, Name, List, Call, Index, Unary, Binary, If };
    Kind kind = Kind::Value;
    Json value;        ///< of a Value
    std::string name;  ///< of a Name, a function or an operator
    std::vector<std::shared_ptr<const Node>> parts;
};

namespace {

using Node = Expression::Node;
using NodePointer = std::shared_ptr<const Node>;

const Json null;
constexpr int deepest = 64;

NodePointer node(Node::Kind kind, std::string name, std::vector<NodePointer> parts) {
    auto made = std::make_shared<Node>();
    made->kind = kind;
    made->name = std::move(name);
    made->parts = std::move(parts);
    return made;
}

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) { next(); }

    Result<NodePointer> whole() {
        PLIMSOLL_TRY(auto root, choice());
        if (!token_.empty()) return unexpected_token();
        return root;
    }

private:
    tl::unexpected<Error> unexpected_token() const {
        return bad_input("the expression \"{}\" is not understood at {}", text_,
                         token_.empty() ? "its end" : "\"" + token_ + "\"");
    }

    void next() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        const std::size_t begin = at_;
        if (at_ == text_.size()) {
            token_.clear();
            return;
        }
        const char c = text_[at_++];
        if (begins_name(c)) {
            while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
        } else if (is_digit(c)) {
            while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        } else if (c == '\'') {
            while (at_ < text_.size() && text_[at_] != '\'') ++at_;
            at_ = std::min(at_ + 1, text_.size());
        } else if (at_ < text_.size()) {
            const std::string_view two = text_.substr(begin, 2);
            if (two == "//" || two == "==" || two == "!=" || two == "<=" || two == ">=") ++at_;
        }
        token_ = text_.substr(begin, at_ - begin);
    }

    bool take(std::string_view wanted) {
        if (token_ != wanted) return false;
        next();
        return true;
    }

    /// a if b else c
    Result<NodePointer> choice() {
        if (++depth_ > deepest) return bad_input("the expression \"{}\" is too deep", text_.substr(0, 80));
        PLIMSOLL_TRY(auto first, binary(0));
        if (take("if")) {
            PLIMSOLL_TRY(auto condition, choice());
            if (!take("else")) return unexpected_token();
            PLIMSOLL_TRY(auto other, choice());
            first = node(Node::Kind::If, "", {first, condition, other});
        }
        --depth_;
        return first;
    }

    /// The operators from the weakest to the strongest.
    Result<NodePointer> binary(std::size_t level) {
        static const std::array<std::vector<std::string_view>, 5> levels{
            {{"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">=", "in", "not"}, {"+", "-"}, {"*", "//", "%"}}};
        if (level == levels.size()) return unary();
        if (level == 2 && take("not")) {
            if (++depth_ > deepest) return bad_input("the expression \"{}\" is too deep", text_.substr(0, 80));
            PLIMSOLL_TRY(auto operand, binary(2));
            --depth_;
            return node(Node::Kind::Unary, "not", {operand});
        }
        PLIMSOLL_TRY(auto left, binary(level + 1));
        while (std::ranges::find(levels[level], token_) != levels[level].end()) {
            std::string name = token_;
            next();
            if (name == "not") {
                if (!take("in")) return unexpected_token();
                name = "not in";
            }
            PLIMSOLL_TRY(auto right, binary(level + 1));
            left = node(Node::Kind::Binary, name, {left, right});
        }
        return left;
    }

    Result<NodePointer> unary() {
        if (take("-")) {
            if (++depth_ > deepest) return bad_input("the expression \"{}\" is too deep", text_.substr(0, 80));
            PLIMSOLL_TRY(auto operand, unary());
            --depth_;
            return node(Node::Kind::Unary, "-", {operand});
        }
        PLIMSOLL_TRY(auto value, primary());
        while (take("[")) {
            PLIMSOLL_TRY(auto index, choice());
            if (!take("]")) return unexpected_token();
            value = node(Node::Kind::Index, "", {value, index});
        }
        return value;
    }

    Result<std::vector<NodePointer>> list_until(std::string_view end) {
        std::vector<NodePointer> parts;
        while (!take(end)) {
            if (!parts.empty() && !take(",")) return unexpected_token();
            PLIMSOLL_TRY(auto part, choice());
            parts.push_back(std::move(part));
        }
        return parts;
    }

    Result<NodePointer> primary() {
        if (take("(")) {
            PLIMSOLL_TRY(auto inner, choice());
            if (!take(")")) return unexpected_token();
            return inner;
        }
        if (take("[")) {
            PLIMSOLL_TRY(auto parts, list_until("]"));
            return node(Node::Kind::List, "", std::move(parts));
        }
        if (token_.empty()) return unexpected_token();
        const std::string token = token_;
        if (token[0] == '\'' && token.size() > 1 && token.back() == '\'') {
            next();
            return literal(token.substr(1, token.size() - 2));
        }
        if (is_digit(token[0]) && token.size() < 18) {
            next();
            return literal(std::stoll(token));
        }
        if (!begins_name(token[0]) || token == "else" || token == "if" || token == "in" || token == "and" ||
            token == "or") {
            return unexpected_token();
        }
        next();
        if (token == "true" || token == "false") return literal(token == "true");
        if (token == "null") return literal(nullptr);
        if (!take("(")) return node(Node::Kind::Name, token, {});
        if (token != "given" && token != "min" && token != "max" && token != "len") {
            return bad_input("the expression \"{}\" calls {}, which is no function (given, min, max, len)", text_,
                             token);
        }
        PLIMSOLL_TRY(auto parts, list_until(")"));
        return node(Node::Kind::Call, token, std::move(parts));
    }

    static NodePointer literal(Json value) {
        auto made = std::make_shared<Node>();
        made->value = std::move(value);
        return made;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string token_;
    int depth_ = 0;
};

bool true_of(const Json& value) {
    if (value.is_null()) return false;
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value.get<double>() != 0;
    return !value.empty() && !(value.is_string() && value.get_ref<const std::string&>().empty());
}

class Evaluation {
public:
    Evaluation(const Scope& scope, const std::string& text) : scope_(scope), text_(text) {}

    Result<Json> of(const Node& node) const {
        switch (node.kind) {
            case Node::Kind::Value:
                return node.value;
            case Node::Kind::Name:
                return scope_.find(node.name);
            case Node::Kind::If: {
                PLIMSOLL_TRY(const Json condition, of(*node.parts[1]));
                return of(*node.parts[true_of(condition) ? 0 : 2]);
            }
            case Node::Kind::List: {
                Json list = Json::array();
                for (const auto& part : node.parts) {
                    PLIMSOLL_TRY(Json value, of(*part));
                    list.push_back(std::move(value));
                }
                return list;
            }
            case Node::Kind::Call:
                return called(node);
            case Node::Kind::Index:
                return indexed(node);
            case Node::Kind::Unary: {
                PLIMSOLL_TRY(const Json operand, of(*node.parts[0]));
                if (node.name == "not") return Json(!true_of(operand));
                PLIMSOLL_TRY(const std::int64_t number, whole(operand, *node.parts[0]));
                return Json(-number);
            }
            case Node::Kind::Binary:
                return combined(node);
        }
        return Json();
    }

    /// A whole number, also where the config writes 4.0.
    Result<std::int64_t> whole(const Json& value, const Node& node) const {
        if (value.is_number_integer()) return value.get<std::int64_t>();
        if (value.is_number_float() &&
            value.get<double>() == static_cast<double>(static_cast<std::int64_t>(value.get<double>()))) {
            return static_cast<std::int64_t>(value.get<double>());
        }
        const std::string what = node.kind == Node::Kind::Name ? node.name : "a part of \"" + text_ + "\"";
        if (value.is_null()) return bad_input("{} is missing; a whole number is needed", what);
        return bad_input("{} is {}; a whole number is needed", what, shown(value));
    }

private:
    Result<Json> called(const Node& node) const {
        if (node.name == "given") {
            for (const auto& part : node.parts) {
                PLIMSOLL_TRY(Json value, of(*part));
                if (!value.is_null()) return value;
            }
            return Json();
        }
        if (node.parts.empty()) return bad_input("the expression \"{}\" gives {} nothing", text_, node.name);
        if (node.name == "len") {
            PLIMSOLL_TRY(const Json value, of(*node.parts[0]));
            if (value.is_string()) return Json(value.get_ref<const std::string&>().size());
            if (value.is_array()) return Json(value.size());
            return bad_input("{} is {}; a list is needed", node.parts[0]->name, shown(value));
        }
        PLIMSOLL_TRY(std::int64_t best, number_of(*node.parts[0]));
        for (const auto& part : node.parts) {
            PLIMSOLL_TRY(const std::int64_t value, number_of(*part));
            best = node.name == "min" ? std::min(best, value) : std::max(best, value);
        }
        return Json(best);
    }

    Result<Json> indexed(const Node& node) const {
        PLIMSOLL_TRY(const Json list, of(*node.parts[0]));
        PLIMSOLL_TRY(const Json index, of(*node.parts[1]));
        const std::string& name = node.parts[0]->name;
        if (list.is_object() && index.is_string()) {
            const auto found = list.find(index.get<std::string>());
            return found == list.end() ? Json() : *found;
        }
        if (!list.is_array() && !list.is_string()) return bad_input("{} is {}; a list is needed", name, shown(list));
        PLIMSOLL_TRY(const std::int64_t place, whole(index, *node.parts[1]));
        const std::size_t size = list.is_array() ? list.size() : list.get_ref<const std::string&>().size();
        if (place < 0 || static_cast<std::size_t>(place) >= size) {
            return bad_input("{} has {} entries, and one for place {} is needed", name, size, place);
        }
        if (list.is_array()) return list[static_cast<std::size_t>(place)];
        return Json(list.get_ref<const std::string&>().substr(static_cast<std::size_t>(place), 1));
    }

    Result<std::int64_t> number_of(const Node& node) const {
        PLIMSOLL_TRY(const Json value, of(node));
        return whole(value, node);
    }

    Result<Json> combined(const Node& node) const {
        const std::string& name = node.name;
        PLIMSOLL_TRY(const Json left, of(*node.parts[0]));
        if (name == "and" && !true_of(left)) return Json(false);
        if (name == "or" && true_of(left)) return Json(true);
        PLIMSOLL_TRY(const Json right, of(*node.parts[1]));
        if (name == "and" || name == "or") return Json(true_of(right));
        if (name == "==") return Json(left == right);
        if (name == "!=") return Json(left != right);
        if (name == "in" || name == "not in") return Json(contains(right, left) == (name == "in"));
        PLIMSOLL_TRY(const std::int64_t a, whole(left, *node.parts[0]));
        PLIMSOLL_TRY(const std::int64_t b, whole(right, *node.parts[1]));
        if (name == "<") return Json(a < b);
        if (name == "<=") return Json(a <= b);
        if (name == ">") return Json(a > b);
        if (name == ">=") return Json(a >= b);
        return arithmetic(name, a, b);
    }

    static bool contains(const Json& list, const Json& value) {
        if (list.is_array()) return std::ranges::find(list, value) != list.end();
        return list.is_string() && value.is_string() &&
               list.get_ref<const std::string&>().find(value.get_ref<const std::string&>()) != std::string::npos;
    }

    Result<Json> arithmetic(const std::string& name, std::int64_t a, std::int64_t b) const {
        std::int64_t result = 0;
        bool over = false;
        if (name == "+") over = __builtin_add_overflow(a, b, &result);
        if (name == "-") over = __builtin_sub_overflow(a, b, &result);
        if (name == "*") over = __builtin_mul_overflow(a, b, &result);
        if (over) return bad_input("\"{}\" is beyond all models: its numbers are too large", text_);
        if (name == "//" || name == "%") {
            if (b == 0) return bad_input("\"{}\" divides by 0", text_);
            const bool below = (a % b != 0) && ((a < 0) != (b < 0));
            const std::int64_t quotient = a / b - (below ? 1 : 0);
            result = name == "//" ? quotient : a - quotient * b;
        }
        return Json(result);
    }

    const Scope& scope_;
    const std::string& text_;
};

}  // namespace

const Json& Scope::find(std::string_view name) const {
    for (auto each = names_.rbegin(); each != names_.rend(); ++each)
        if (each->first == name) return each->second;
    if (outer_ != nullptr) return outer_->find(name);
    if (config_ == nullptr || !config_->is_object()) return null;
    const auto found = config_->find(std::string(name));
    return found == config_->end() ? null : *found;
}

Result<Expression> Expression::parse(std::string_view text) {
    Expression made;
    made.text_ = text;
    PLIMSOLL_TRY(made.root_, Parser(text).whole());
    return made;
}

Result<Json> Expression::value(const Scope& scope) const { return Evaluation(scope, text_).of(*root_); }

Result<std::int64_t> Expression::number(const Scope& scope) const {
    PLIMSOLL_TRY(const Json value, value(scope));
    return Evaluation(scope, text_).whole(value, *root_);
}

Result<bool> Expression::truth(const Scope& scope) const {
    PLIMSOLL_TRY(const Json value, value(scope));
    return true_of(value);
}

}  // namespace plimsoll
