// SPDX-License-Identifier: Apache-2.0
// Whole-file reads with a limit, and writes that are either complete or absent.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

/// The file's bytes. Errors name the path and the cause (missing, a folder, no permission, over `limit`).
Result<std::string> read_file(const std::filesystem::path& path, Bytes limit = 256 * MiB);

struct FileBeginning {
    std::string text;
    Bytes size = 0;  ///< of the whole file
};
/// The file's first bytes, at most `most`, with the errors of read_file; the file may have any size.
Result<FileBeginning> read_beginning(const std::filesystem::path& path, Bytes most);

/// Writes beside the target, fsyncs, renames over it: a reader sees the old file or the new one, never a torn one.
/// On any error (disk full, no permission, a folder or device of that name) the old file stands and nothing is left
/// behind. An existing file keeps its permissions; through a link, the file that it points to is replaced.
Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view contents);

/// Text of errno for messages.
std::string errno_text(int error);

}  // namespace plimsoll
