// SPDX-License-Identifier: Apache-2.0
#include "core/validation/bubble_cases.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

namespace plimsoll {
namespace {

constexpr std::array needed{"p", "m", "forward_ms", "backward_input_ms", "backward_weight_ms", "comm_ms"};

std::vector<std::string> split(std::string_view line, char separator) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= line.size();) {
        const auto to = std::min(line.find(separator, from), line.size());
        auto part = line.substr(from, to - from);
        const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
        while (!part.empty() && blank(part.front())) part.remove_prefix(1);
        while (!part.empty() && blank(part.back())) part.remove_suffix(1);
        parts.emplace_back(part);
        from = to + 1;
    }
    return parts;
}

std::optional<double> number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

Result<int> count(double value, std::size_t line, std::string_view column) {
    if (value < 1 || value > 1e6 || value != std::floor(value))
        return bad_input("line {}: {} is {}; it must be a whole number from 1 to 1,000,000", line, column, value);
    return static_cast<int>(value);
}

Result<BubbleCase> row(const std::vector<std::string>& columns, const std::vector<std::string>& cells,
                       std::size_t line) {
    if (cells.size() != columns.size())
        return bad_input("line {} has {} values for {} columns; give one each", line, cells.size(), columns.size());
    BubbleCase one;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto& column = columns[c];
        const bool rate = column.starts_with("bubble_");
        if (rate && cells[c].empty()) continue;
        const auto value = number(cells[c]);
        if (!value)
            return bad_input("line {}: {} is \"{}\"; it must be a number", line, column, cells[c].substr(0, 40));
        if (*value < 0) return bad_input("line {}: {} is {}; it must be 0 or more", line, column, *value);
        if (rate) one.published.emplace_back(column, *value);
        if (column == "forward_ms") one.forward = *value / 1000;
        if (column == "backward_input_ms") one.backward_input = *value / 1000;
        if (column == "backward_weight_ms") one.backward_weight = *value / 1000;
        if (column == "comm_ms") one.send = *value / 1000;
        if (column == "weight_share") {
            if (*value > 1) return bad_input("line {}: weight_share is {}; it must be from 0 to 1", line, *value);
            one.weight_share = *value;
        }
        if (column == "p" || column == "m" || column == "chunks") {
            PLIMSOLL_TRY(const auto whole, count(*value, line, column));
            if (column == "p") one.ranks = whole;
            if (column == "m") one.micro_batches = whole;
            if (column == "chunks") one.chunks = whole;
        }
    }
    return one;
}

}  // namespace

Result<std::vector<BubbleCase>> read_bubble_cases(std::string_view csv) {
    std::vector<BubbleCase> cases;
    std::vector<std::string> columns;
    std::size_t line = 0;
    for (std::size_t from = 0; from < csv.size();) {
        const auto to = std::min(csv.find('\n', from), csv.size());
        const auto text = csv.substr(from, to - from);
        from = to + 1;
        ++line;
        if (text.find_first_not_of(" \t\r") == std::string_view::npos || text.front() == '#') continue;
        const auto cells = split(text, ',');
        if (columns.empty()) {
            columns = cells;
            for (const auto* column : needed)
                if (std::find(columns.begin(), columns.end(), column) == columns.end())
                    return bad_input("the file has no column {}; its first line must name {}", column,
                                     fmt::join(needed, ", "));
            continue;
        }
        PLIMSOLL_TRY(auto one, row(columns, cells, line));
        cases.push_back(std::move(one));
    }
    if (cases.empty()) return bad_input("the file has no rows; give a line of column names and one line a case");
    return cases;
}

}  // namespace plimsoll
