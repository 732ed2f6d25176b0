// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace plimsoll {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian but for floats");

constexpr int last_protocol = 5;

/// Opcodes of Python's Lib/pickletools.py; those of protocols 0 and 1 that later ones do not write are left out.
enum class Op : unsigned char {
    Mark = '(',
    Stop = '.',
    Pop = '0',
    PopMark = '1',
    Dup = '2',
    BinInt = 'J',
    BinInt1 = 'K',
    BinInt2 = 'M',
    None = 'N',
    BinPersistentId = 'Q',
    Reduce = 'R',
    BinString = 'T',
    ShortBinString = 'U',
    BinUnicode = 'X',
    Append = 'a',
    Build = 'b',
    Global = 'c',
    DictOfMark = 'd',
    EmptyDict = '}',
    Appends = 'e',
    BinGet = 'h',
    LongBinGet = 'j',
    ListOfMark = 'l',
    EmptyList = ']',
    BinPut = 'q',
    LongBinPut = 'r',
    SetItem = 's',
    TupleOfMark = 't',
    EmptyTuple = ')',
    SetItems = 'u',
    BinFloat = 'G',
    Protocol = 0x80,
    NewObject = 0x81,
    Tuple1 = 0x85,
    Tuple2 = 0x86,
    Tuple3 = 0x87,
    True = 0x88,
    False = 0x89,
    Long1 = 0x8A,
    Long4 = 0x8B,
    BinBytes = 'B',
    ShortBinBytes = 'C',
    ShortBinUnicode = 0x8C,
    BinUnicode8 = 0x8D,
    BinBytes8 = 0x8E,
    EmptySet = 0x8F,
    AddItems = 0x90,
    FrozenSet = 0x91,
    NewObjectWithKeywords = 0x92,
    StackGlobal = 0x93,
    Memoize = 0x94,
    Frame = 0x95,
    ByteArray8 = 0x96,
};

/// Ends the reading; never leaves this file.
struct PickleRefused {
    Error error;
};

}  // namespace

/// The machine that a pickle is a program for, with calls written down instead of made.
class PickleReader {
public:
    using Kind = PickleNode::Kind;

    PickleReader(std::string bytes, const std::string& what, Bytes budget)
        : what_(what), budget_(budget > 0 ? budget : pickle_budget(bytes.size())) {
        pickle_.bytes_ = std::make_unique<const std::string>(std::move(bytes));
        bytes_ = *pickle_.bytes_;
    }

    Pickle read() {
        while (true) {
            const auto op = static_cast<Op>(number<unsigned char>());
            if (op == Op::Stop) break;
            step(op);
        }
        pickle_.root_ = pop();
        return std::move(pickle_);
    }

private:
    template <class... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
        throw PickleRefused{
            {fmt::format("{}, byte {}: {}", what_, at_, fmt::format(format, std::forward<Args>(args)...))}};
    }

    std::string_view take(std::uint64_t size) {
        if (size > bytes_.size() - at_) {
            refuse("the pickle is cut short or damaged: {} bytes are needed, {} are left", size, bytes_.size() - at_);
        }
        const std::string_view taken = bytes_.substr(at_, size);
        at_ += size;
        return taken;
    }

    template <class Number>
    Number number() {
        Number value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }

    std::string_view line() {
        const std::size_t end = bytes_.find('\n', at_);
        if (end == std::string_view::npos) refuse("the pickle is cut short or damaged: a name has no end");
        const std::string_view text = take(end - at_);
        ++at_;
        return text;
    }

    /// Counts memory that lasts; what a vector keeps for its growth is counted with it.
    void spend(std::size_t bytes) {
        spent_ += static_cast<Bytes>(bytes);
        if (spent_ > budget_)
            refuse("the values of the pickle take more than {} of memory; it is damaged, or made to fill the memory",
                   format_bytes(budget_));
    }
    void push_id(PickleId id) {
        spend(2 * sizeof(PickleId));
        stack_.push_back(id);
    }

    PickleId add(PickleNode node) {
        spend(sizeof(PickleNode) + 2 * sizeof(PickleId) * node.items.size());
        pickle_.nodes_.push_back(std::move(node));
        return static_cast<PickleId>(pickle_.nodes_.size() - 1);
    }
    void push(PickleNode node) { push_id(add(std::move(node))); }
    void push(Kind kind) {
        PickleNode node;
        node.kind = kind;
        push(std::move(node));
    }
    /// Values that nothing can change and that are alike are one value.
    void push_shared(Kind kind, std::int64_t value = 0) {
        const auto [at, made] = shared_.try_emplace({kind, value}, 0);
        if (made) {
            PickleNode node;
            node.kind = kind;
            node.integer = value;
            at->second = add(std::move(node));
        }
        push_id(at->second);
    }
    void push_integer(std::int64_t value) {
        if (value >= -1 && value <= 65'535) return push_shared(Kind::Int, value);
        PickleNode node;
        node.kind = Kind::Int;
        node.integer = value;
        push(std::move(node));
    }
    void push_text(std::string_view text, Kind kind) {
        PickleNode node;
        node.kind = kind;
        node.text = text;
        push(std::move(node));
    }
    void push_items(std::vector<PickleId> items, Kind kind) {
        PickleNode node;
        node.kind = kind;
        node.items = std::move(items);
        push(std::move(node));
    }
    void push_call(PickleId callable, PickleId arguments) {
        PickleNode node;
        node.kind = Kind::Call;
        node.callable = callable;
        node.arguments = arguments;
        push(std::move(node));
    }

    /// What lies on the stack above the last mark.
    std::size_t above_mark() const { return marks_.empty() ? 0 : marks_.back(); }
    PickleId pop() {
        const PickleId id = top();
        stack_.pop_back();
        return id;
    }
    PickleId top() const {
        if (stack_.size() <= above_mark()) refuse("the pickle is damaged: it takes a value where there is none");
        return stack_.back();
    }
    std::vector<PickleId> pop_mark() {
        if (marks_.empty()) refuse("the pickle is damaged: it takes values up to a mark that is not there");
        const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
        std::vector<PickleId> items(begin, stack_.end());
        stack_.erase(begin, stack_.end());
        marks_.pop_back();
        return items;
    }

    /// Puts items into the container on the stack.
    void fill(const std::vector<PickleId>& items, Kind container, bool in_pairs) {
        PickleNode& node = pickle_.nodes_[top()];
        if (node.kind != container && node.kind != Kind::Call) refuse("the pickle is damaged: it fills no container");
        if (in_pairs && items.size() % 2 != 0) refuse("the pickle is damaged: a key has no value");
        spend(2 * sizeof(PickleId) * items.size());
        node.items.insert(node.items.end(), items.begin(), items.end());
    }

    void remember(std::uint64_t place) {
        if (place >= memo_.size()) {
            spend(2 * sizeof(PickleId) * (place + 1 - memo_.size()));
            memo_.resize(place + 1, nothing_kept);
        }
        if (memo_[place] == nothing_kept) ++remembered_;
        memo_[place] = top();
    }
    void recall(std::uint64_t place) {
        if (place >= memo_.size() || memo_[place] == nothing_kept)
            refuse("the pickle is damaged: it recalls value {}, which it never kept", place);
        push_id(memo_[place]);
    }

    void push_long(std::uint64_t size) {
        const std::string_view digits = take(size);
        if (size > sizeof(std::int64_t)) return push_text(digits, Kind::BigInt);
        std::uint64_t value = size > 0 && (static_cast<unsigned char>(digits.back()) & 0x80U) != 0 ? ~0ULL : 0;
        std::memcpy(&value, digits.data(), size);
        push_integer(static_cast<std::int64_t>(value));
    }

    void push_global(std::string_view module, std::string_view name) {
        const std::string& whole = pickle_.names_.emplace_back(fmt::format("{}.{}", module, name));
        spend(sizeof(std::string) + whole.size());
        push_text(whole, Kind::Global);
    }

    void build() {
        const PickleId state = pop();
        PickleNode& object = pickle_.nodes_[top()];
        if (object.kind != Kind::Call) refuse("the pickle is damaged: it sets the state of what is no object");
        object.state = state;
    }

    void step(Op op);
    bool step_value(Op op);
    bool step_container(Op op);

    static constexpr PickleId nothing_kept = ~PickleId{0};

    std::string_view bytes_;
    const std::string& what_;
    Bytes budget_, spent_ = 0;
    std::size_t at_ = 0;
    Pickle pickle_;
    std::vector<PickleId> stack_;
    std::vector<std::size_t> marks_;
    std::vector<PickleId> memo_;    ///< by place; picklers number the places without gaps
    std::uint64_t remembered_ = 0;  ///< places that hold a value
    std::map<std::pair<Kind, std::int64_t>, PickleId> shared_;
};

bool PickleReader::step_value(Op op) {
    switch (op) {
        case Op::None:
            push_shared(Kind::None);
            return true;
        case Op::True:
        case Op::False:
            push_shared(Kind::Bool, op == Op::True ? 1 : 0);
            return true;
        case Op::BinInt:
            push_integer(number<std::int32_t>());
            return true;
        case Op::BinInt1:
            push_integer(number<std::uint8_t>());
            return true;
        case Op::BinInt2:
            push_integer(number<std::uint16_t>());
            return true;
        case Op::Long1:
            push_long(number<std::uint8_t>());
            return true;
        case Op::Long4:
            push_long(number<std::uint32_t>());
            return true;
        case Op::BinFloat: {
            PickleNode node;
            node.kind = Kind::Float;
            node.real = std::bit_cast<double>(__builtin_bswap64(number<std::uint64_t>()));
            push(std::move(node));
            return true;
        }
        case Op::ShortBinUnicode:
        case Op::ShortBinString:
            push_text(take(number<std::uint8_t>()), Kind::Text);
            return true;
        case Op::BinUnicode:
        case Op::BinString:
            push_text(take(number<std::uint32_t>()), Kind::Text);
            return true;
        case Op::BinUnicode8:
            push_text(take(number<std::uint64_t>()), Kind::Text);
            return true;
        case Op::ShortBinBytes:
            push_text(take(number<std::uint8_t>()), Kind::ByteString);
            return true;
        case Op::BinBytes:
            push_text(take(number<std::uint32_t>()), Kind::ByteString);
            return true;
        case Op::BinBytes8:
        case Op::ByteArray8:
            push_text(take(number<std::uint64_t>()), Kind::ByteString);
            return true;
        case Op::Global: {
            const std::string_view module = line();
            push_global(module, line());
            return true;
        }
        case Op::StackGlobal: {
            const PickleNode& name = pickle_.nodes_[pop()];
            const PickleNode& module = pickle_.nodes_[pop()];
            if (name.kind != Kind::Text || module.kind != Kind::Text)
                refuse("the pickle is damaged: a name is no text");
            push_global(module.text, name.text);
            return true;
        }
        default:
            return false;
    }
}

bool PickleReader::step_container(Op op) {
    switch (op) {
        case Op::EmptyTuple:
            push_shared(Kind::Tuple);
            return true;
        case Op::EmptyList:
            push(Kind::List);
            return true;
        case Op::EmptyDict:
            push(Kind::Dict);
            return true;
        case Op::EmptySet:
            push(Kind::Set);
            return true;
        case Op::Tuple1:
        case Op::Tuple2:
        case Op::Tuple3: {
            std::vector<PickleId> items(static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::Tuple1) + 1);
            for (auto item = items.rbegin(); item != items.rend(); ++item) *item = pop();
            push_items(std::move(items), Kind::Tuple);
            return true;
        }
        case Op::TupleOfMark:
            push_items(pop_mark(), Kind::Tuple);
            return true;
        case Op::ListOfMark:
            push_items(pop_mark(), Kind::List);
            return true;
        case Op::FrozenSet:
            push_items(pop_mark(), Kind::Set);
            return true;
        case Op::DictOfMark: {
            const std::vector<PickleId> items = pop_mark();
            push(Kind::Dict);
            fill(items, Kind::Dict, true);
            return true;
        }
        case Op::Append: {
            const PickleId item = pop();
            fill({item}, Kind::List, false);
            return true;
        }
        case Op::Appends:
            fill(pop_mark(), Kind::List, false);
            return true;
        case Op::AddItems:
            fill(pop_mark(), Kind::Set, false);
            return true;
        case Op::SetItem: {
            const PickleId value = pop(), key = pop();
            fill({key, value}, Kind::Dict, true);
            return true;
        }
        case Op::SetItems:
            fill(pop_mark(), Kind::Dict, true);
            return true;
        default:
            return false;
    }
}

void PickleReader::step(Op op) {
    if (step_value(op) || step_container(op)) return;
    switch (op) {
        case Op::Protocol:
            if (const int protocol = number<std::uint8_t>(); protocol > last_protocol) {
                refuse("the pickle is of protocol {}; {} is the last one known", protocol, last_protocol);
            }
            return;
        case Op::Frame:
            if (const auto size = number<std::uint64_t>(); size > bytes_.size() - at_) {
                refuse("the pickle is cut short or damaged: a frame has {} bytes, {} are left", size,
                       bytes_.size() - at_);
            }
            return;
        case Op::Mark:
            spend(2 * sizeof(std::size_t));
            marks_.push_back(stack_.size());
            return;
        case Op::Pop:
            // Popping what is not there is popping the mark.
            if (stack_.size() == above_mark() && !marks_.empty())
                marks_.pop_back();
            else
                pop();
            return;
        case Op::PopMark:
            pop_mark();
            return;
        case Op::Dup:
            push_id(top());
            return;
        case Op::BinPersistentId:
            push_items({pop()}, Kind::Persistent);
            return;
        case Op::Reduce:
        case Op::NewObject: {
            const PickleId arguments = pop();
            push_call(pop(), arguments);
            return;
        }
        case Op::NewObjectWithKeywords: {
            const PickleId keywords = pop(), arguments = pop();
            push_call(pop(), arguments);
            pickle_.nodes_[top()].state = keywords;
            return;
        }
        case Op::Build:
            build();
            return;
        case Op::BinGet:
            recall(number<std::uint8_t>());
            return;
        case Op::LongBinGet:
            recall(number<std::uint32_t>());
            return;
        case Op::BinPut:
            remember(number<std::uint8_t>());
            return;
        case Op::LongBinPut:
            remember(number<std::uint32_t>());
            return;
        case Op::Memoize:
            remember(remembered_);
            return;
        default:
            refuse("{:#04x} is no operation of pickle protocols 2 to {}; the file is damaged, or of another kind",
                   static_cast<int>(op), last_protocol);
    }
}

Result<Pickle> Pickle::parse(std::string bytes, const std::string& what, Bytes budget) {
    try {
        return PickleReader(std::move(bytes), what, budget).read();
    } catch (const PickleRefused& refused) {
        return tl::unexpected(refused.error);
    }
}

std::span<const PickleId> Pickle::entries(PickleId id) const {
    const PickleNode& node = nodes_[id];
    if (node.kind == PickleNode::Kind::Dict) return node.items;
    if (node.kind != PickleNode::Kind::Call) return {};
    if (!node.items.empty() && node.items.size() % 2 == 0) return node.items;
    if (node.state == PickleNode::no_state) return {};
    const PickleNode& state = nodes_[node.state];
    return state.kind == PickleNode::Kind::Dict ? std::span<const PickleId>(state.items) : std::span<const PickleId>();
}

std::optional<PickleId> Pickle::find(PickleId id, std::string_view key) const {
    const auto all = entries(id);
    // As in Python, the last of two equal keys counts.
    for (std::size_t i = all.size(); i >= 2; i -= 2) {
        if (text(all[i - 2]) == key) return all[i - 1];
    }
    return std::nullopt;
}

std::span<const PickleId> Pickle::elements(PickleId id) const {
    const PickleNode& node = nodes_[id];
    switch (node.kind) {
        case PickleNode::Kind::Tuple:
        case PickleNode::Kind::List:
        case PickleNode::Kind::Set:
            return node.items;
        case PickleNode::Kind::Call: {
            if (!is_call(id, "torch.Size")) return {};
            const std::vector<PickleId>& arguments = nodes_[node.arguments].items;
            // torch.Size((2, 3)): of its one argument.
            if (arguments.size() != 1 || nodes_[arguments[0]].kind != PickleNode::Kind::Tuple) return {};
            return nodes_[arguments[0]].items;
        }
        default:
            return {};
    }
}

bool Pickle::is_call(PickleId id, std::string_view callable) const {
    const PickleNode& node = nodes_[id];
    return node.kind == PickleNode::Kind::Call && nodes_[node.callable].kind == PickleNode::Kind::Global &&
           nodes_[node.callable].text == callable;
}

std::optional<std::string_view> Pickle::text(PickleId id) const {
    return nodes_[id].kind == PickleNode::Kind::Text ? std::optional<std::string_view>(nodes_[id].text) : std::nullopt;
}

std::optional<std::int64_t> Pickle::integer(PickleId id) const {
    return nodes_[id].kind == PickleNode::Kind::Int ? std::optional(nodes_[id].integer) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> Pickle::integers(PickleId id) const {
    const PickleNode& node = nodes_[id];
    const bool is_list = node.kind == PickleNode::Kind::Tuple || node.kind == PickleNode::Kind::List;
    if (!is_list && !is_call(id, "torch.Size")) return std::nullopt;
    std::vector<std::int64_t> numbers;
    for (const PickleId each : elements(id)) {
        const auto number = integer(each);
        if (!number) return std::nullopt;
        numbers.push_back(*number);
    }
    return numbers;
}

}  // namespace plimsoll
