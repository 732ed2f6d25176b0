// SPDX-License-Identifier: Apache-2.0
#include "core/interop/records/parquet.h"

#include <zstd.h>

#include "core/base/version.h"
#include "core/interop/records/protobuf.h"
#include "core/telemetry/frame.h"

namespace plimsoll {

namespace {

constexpr std::string_view magic = "PAR1";
/// A page of 128 Ki numbers is 1 MiB, as Parquet's own writers make them.
constexpr std::int64_t rows_a_group = 131'072;
constexpr int zstd_level = 3;

// parquet.thrift: physical types, codec, encodings.
constexpr std::int32_t int64_type = 2, double_type = 5, byte_array_type = 6;
constexpr std::int32_t required = 0, utf8 = 0, zstd_codec = 6, plain = 0, rle = 3, data_page = 0, format_version = 2;

std::int32_t physical(ParquetType type) {
    switch (type) {
        case ParquetType::Int64:
            return int64_type;
        case ParquetType::Double:
            return double_type;
        case ParquetType::Text:
            break;
    }
    return byte_array_type;
}

/// A struct in Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md).
class Thrift {
public:
    Thrift& number(int field, std::int64_t value) { return header(field, 6).zigzag(value); }
    Thrift& small(int field, std::int32_t value) { return header(field, 5).zigzag(value); }
    Thrift& text(int field, std::string_view value) {
        header(field, 8);
        protobuf::put_varint(bytes_, value.size());
        bytes_ += value;
        return *this;
    }
    Thrift& inner(int field, const Thrift& value) {
        header(field, 12);
        bytes_ += value.done();
        return *this;
    }
    Thrift& smalls(int field, const std::vector<std::int32_t>& values) {
        list(field, values.size(), 5);
        for (const std::int32_t each : values) zigzag(each);
        return *this;
    }
    Thrift& texts(int field, const std::vector<std::string>& values) {
        list(field, values.size(), 8);
        for (const std::string& each : values) {
            protobuf::put_varint(bytes_, each.size());
            bytes_ += each;
        }
        return *this;
    }
    Thrift& inners(int field, const std::vector<Thrift>& values) {
        list(field, values.size(), 12);
        for (const Thrift& each : values) bytes_ += each.done();
        return *this;
    }
    std::string done() const { return bytes_ + '\0'; }

private:
    /// Fields come in order, and never more than 15 apart.
    Thrift& header(int field, int type) {
        bytes_ += static_cast<char>((field - last_) << 4 | type);
        last_ = field;
        return *this;
    }
    Thrift& zigzag(std::int64_t value) {
        protobuf::put_varint(bytes_,
                             (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
        return *this;
    }
    void list(int field, std::size_t size, int type) {
        header(field, 9);
        bytes_ += static_cast<char>((size < 15 ? static_cast<int>(size) : 15) << 4 | type);
        if (size >= 15) protobuf::put_varint(bytes_, size);
    }
    std::string bytes_;
    int last_ = 0;
};

Thrift page_header(std::int64_t rows, std::size_t plain_bytes, std::size_t stored_bytes) {
    Thrift values;
    values.small(1, static_cast<std::int32_t>(rows)).small(2, plain).small(3, rle).small(4, rle);
    Thrift header;
    header.small(1, data_page).small(2, static_cast<std::int32_t>(plain_bytes));
    return header.small(3, static_cast<std::int32_t>(stored_bytes)).inner(5, values);
}

std::vector<Thrift> schema(const std::vector<ParquetColumn>& columns) {
    std::vector<Thrift> elements(1);
    elements[0].text(4, "schema").small(5, static_cast<std::int32_t>(columns.size()));
    for (const ParquetColumn& column : columns) {
        Thrift element;
        element.small(1, physical(column.type)).small(3, required).text(4, column.name);
        // Logical type STRING, and the converted type for readers that predate logical types.
        if (column.type == ParquetType::Text) element.small(6, utf8).inner(10, Thrift().inner(1, Thrift()));
        elements.push_back(std::move(element));
    }
    return elements;
}

}  // namespace

ParquetWriter::ParquetWriter(std::vector<ParquetColumn> columns, Sink sink)
    : columns_(std::move(columns)), sink_(std::move(sink)), pages_(columns_.size()) {}

void ParquetWriter::put(std::int64_t value) { put_u64(pages_[next_++], static_cast<std::uint64_t>(value)); }

void ParquetWriter::put(double value) { put_f64(pages_[next_++], value); }

void ParquetWriter::put(std::string_view text) {
    std::string& page = pages_[next_++];
    put_u32(page, static_cast<std::uint32_t>(text.size()));
    page += text;
}

Result<void> ParquetWriter::end_row() {
    next_ = 0;
    return ++rows_ < rows_a_group ? Result<void>() : flush();
}

Result<void> ParquetWriter::write(std::string_view bytes) {
    written_ += bytes.size();
    return sink_(bytes);
}

Result<void> ParquetWriter::flush() {
    if (written_ == 0) {
        if (auto begun = write(magic); !begun) return begun;
    }
    if (rows_ == 0) return {};
    Group group;
    group.rows = rows_;
    for (std::string& page : pages_) {
        std::string stored(ZSTD_compressBound(page.size()), '\0');
        const std::size_t size = ZSTD_compress(stored.data(), stored.size(), page.data(), page.size(), zstd_level);
        if (ZSTD_isError(size) != 0) return failed("cannot compress the records: {}", ZSTD_getErrorName(size));
        stored.resize(size);
        const std::string header = page_header(rows_, page.size(), size).done();
        group.chunks.push_back({written_, header.size() + page.size(), header.size() + size});
        for (const std::string& part : {header, stored}) {
            if (auto done = write(part); !done) return done;
        }
        page.clear();
    }
    groups_.push_back(std::move(group));
    rows_ = 0;
    return {};
}

std::string ParquetWriter::footer(const std::vector<std::pair<std::string, std::string>>& metadata) const {
    std::vector<Thrift> groups;
    std::int64_t rows = 0;
    for (const Group& group : groups_) {
        std::vector<Thrift> chunks;
        std::int64_t bytes = 0;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            const Chunk& chunk = group.chunks[c];
            const auto at = static_cast<std::int64_t>(chunk.at);
            Thrift facts;
            facts.small(1, physical(columns_[c].type)).smalls(2, {plain, rle}).texts(3, {columns_[c].name});
            facts.small(4, zstd_codec).number(5, group.rows).number(6, static_cast<std::int64_t>(chunk.plain_bytes));
            facts.number(7, static_cast<std::int64_t>(chunk.stored_bytes)).number(9, at);
            Thrift element;
            chunks.push_back(element.number(2, at).inner(3, facts));
            bytes += static_cast<std::int64_t>(chunk.plain_bytes);
        }
        Thrift element;
        groups.push_back(element.inners(1, chunks).number(2, bytes).number(3, group.rows));
        rows += group.rows;
    }
    std::vector<Thrift> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(Thrift().text(1, key).text(2, value));
    Thrift file;
    file.small(1, format_version).inners(2, schema(columns_)).number(3, rows).inners(4, groups).inners(5, pairs);
    return file.text(6, fmt::format("plimsoll version {}", version())).done();
}

Result<void> ParquetWriter::finish(const std::vector<std::pair<std::string, std::string>>& metadata) {
    if (auto flushed = flush(); !flushed) return flushed;
    std::string end = footer(metadata);
    put_u32(end, static_cast<std::uint32_t>(end.size()));
    end += magic;
    return write(end);
}

}  // namespace plimsoll
