// SPDX-License-Identifier: Apache-2.0
// Large binary files: streamed out atomically, read at any place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/base/fd.h"
#include "core/base/file.h"
#include "core/base/result.h"

namespace plimsoll {

/// Writes a file beside `path`; finish() puts it in place. If the writer is destroyed before, nothing is left behind.
class FileWriter {
public:
    static Result<FileWriter> create(const std::filesystem::path& path);
    ~FileWriter();
    FileWriter(FileWriter&& other) noexcept;
    FileWriter& operator=(FileWriter&&) = delete;

    Result<void> write(const void* bytes, std::size_t size);
    /// fsync, rename, fsync of the folder.
    Result<void> finish();

private:
    FileWriter(std::filesystem::path path, std::filesystem::path beside, Fd file)
        : path_(std::move(path)), beside_(std::move(beside)), file_(std::move(file)) {}
    std::filesystem::path path_;
    std::filesystem::path beside_;  ///< empty: nothing to remove
    Fd file_;
};

class FileReader {
public:
    /// A regular file; anything else is refused without hanging.
    static Result<FileReader> open(const std::filesystem::path& path);
    std::uint64_t size() const { return size_; }
    /// Exactly `size` bytes from `offset`; error where the file is too short.
    Result<void> read(void* bytes, std::size_t size, std::uint64_t offset) const;

private:
    FileReader(std::filesystem::path path, Fd file, std::uint64_t size)
        : path_(std::move(path)), file_(std::move(file)), size_(size) {}
    std::filesystem::path path_;
    Fd file_;
    std::uint64_t size_;
};

/// Makes renames and new files inside the folder durable.
Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace plimsoll
