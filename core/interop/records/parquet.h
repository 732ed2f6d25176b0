// SPDX-License-Identifier: Apache-2.0
// Apache Parquet files (https://parquet.apache.org/docs/file-format): plain columns in zstd pages.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

enum class ParquetType { Int64, Double, Text };

struct ParquetColumn {
    std::string name;
    ParquetType type;
};

/// Writes rows in which every column has a value, a group of rows at a time, so that memory does not grow with the
/// file.
class ParquetWriter {
public:
    using Sink = std::function<Result<void>(std::string_view piece)>;
    ParquetWriter(std::vector<ParquetColumn> columns, Sink sink);

    /// The next value of a column; rows are filled from the first column to the last.
    void put(std::int64_t value);
    void put(double value);
    void put(std::string_view text);
    /// Ends a row. The error is the sink's.
    Result<void> end_row();
    /// Writes the last group and the footer. `metadata`: keys and values of the file.
    Result<void> finish(const std::vector<std::pair<std::string, std::string>>& metadata);

private:
    struct Chunk {
        std::uint64_t at = 0, plain_bytes = 0, stored_bytes = 0;
    };
    struct Group {
        std::int64_t rows = 0;
        std::vector<Chunk> chunks;
    };
    Result<void> write(std::string_view bytes);
    Result<void> flush();
    std::string footer(const std::vector<std::pair<std::string, std::string>>& metadata) const;

    std::vector<ParquetColumn> columns_;
    Sink sink_;
    std::uint64_t written_ = 0;
    std::int64_t rows_ = 0;  ///< in the group that is being filled
    std::size_t next_ = 0;   ///< column of the next value
    std::vector<std::string> pages_;
    std::vector<Group> groups_;
};

}  // namespace plimsoll
