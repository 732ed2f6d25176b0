// SPDX-License-Identifier: Apache-2.0
#include "core/validation/csv.h"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/base/printable.h"

namespace plimsoll {
namespace {

constexpr std::size_t most_rows = 1'000'000;

struct Reading {
    std::vector<std::vector<std::string>> lines;
    std::vector<std::string> line;
    bool too_many = false;

    // Names and numbers of others, which sentences quote.
    static void cell(void* text, std::size_t size, void* reading) {
        auto& self = *static_cast<Reading*>(reading);
        self.line.push_back(text == nullptr ? "" : printable({static_cast<const char*>(text), size}));
    }
    static void end(int, void* reading) {
        auto& self = *static_cast<Reading*>(reading);
        if (self.lines.size() > most_rows)
            self.too_many = true;
        else
            self.lines.push_back(std::move(self.line));
        self.line.clear();
    }
};

struct Free {
    void operator()(csv_parser* parser) const { csv_free(parser); }
};

}  // namespace

bool CsvTable::has(std::string_view column) const {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
}

const std::string& CsvTable::at(std::size_t row, std::string_view column) const {
    static const std::string nothing;
    const auto found = std::find(columns.begin(), columns.end(), column);
    return found == columns.end() ? nothing : rows.at(row).at(static_cast<std::size_t>(found - columns.begin()));
}

Result<CsvTable> read_csv(std::string_view text) {
    csv_parser state;
    if (csv_init(&state, CSV_STRICT | CSV_STRICT_FINI) != 0) return failed("the CSV reader could not be started");
    const std::unique_ptr<csv_parser, Free> parser(&state);
    Reading reading;
    if (csv_parse(parser.get(), text.data(), text.size(), Reading::cell, Reading::end, &reading) != text.size() ||
        csv_fini(parser.get(), Reading::cell, Reading::end, &reading) != 0)
        return bad_input("line {}: {}; put cells with commas or quotes in double quotes", reading.lines.size() + 1,
                         csv_strerror(csv_error(parser.get())));
    if (reading.too_many) return bad_input("the file has more than {} rows; give a part of it", most_rows);
    if (reading.lines.size() < 2)
        return bad_input("the file has no rows; give a line of column names and one line a row");
    CsvTable table;
    table.columns = std::move(reading.lines.front());
    for (std::size_t i = 1; i < reading.lines.size(); ++i) {
        auto& line = reading.lines[i];
        if (line.size() == 1 && line[0].empty()) continue;
        if (line.size() > table.columns.size())
            return bad_input("line {} has {} cells and the first line {} columns", i + 1, line.size(),
                             table.columns.size());
        line.resize(table.columns.size());
        table.rows.push_back(std::move(line));
    }
    return table;
}

}  // namespace plimsoll
