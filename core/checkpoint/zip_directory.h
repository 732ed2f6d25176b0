// SPDX-License-Identifier: Apache-2.0
// The places of uncompressed files in a zip archive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file_io.h"
#include "core/base/result.h"

namespace plimsoll {

struct ZipEntry {
    std::string name;
    std::uint64_t begin = 0;  ///< byte of the file that holds the archive
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;  ///< CRC-32 (of zlib); not checked here
};

/// The entries of the archive that takes up `bytes` bytes of the file from `begin` (PKWARE's APPNOTE.TXT 6.3, with
/// zip64). Every entry lies in those bytes. Error where the archive is damaged or cut short, or an entry is compressed
/// or encrypted.
Result<std::vector<ZipEntry>> read_zip_directory(const FileReader& file, std::uint64_t begin, std::uint64_t bytes,
                                                 const std::string& what);

}  // namespace plimsoll
