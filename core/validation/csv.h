// SPDX-License-Identifier: Apache-2.0
// Tables in comma-separated text, by column name (RFC 4180, read by libcsv).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

struct CsvTable {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;  ///< as many cells as columns

    bool has(std::string_view column) const;
    /// The cell, or "" where there is no such column.
    const std::string& at(std::size_t row, std::string_view column) const;
};

/// The first line names the columns. Cells are printable text on one line. Errors name the line: too many cells, a quote
/// that is not closed, no rows, more than a million rows.
Result<CsvTable> read_csv(std::string_view text);

}  // namespace plimsoll
