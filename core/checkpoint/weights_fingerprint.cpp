// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/weights_fingerprint.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/file_io.h"
#include "core/base/units.h"
#include "core/base/xxh64.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t read_at_once = 4 * MiB;  ///< bytes

Result<std::vector<fs::path>> files_below(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    fs::recursive_directory_iterator it(folder, error);
    for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
        std::error_code ignored;
        if (it->is_regular_file(ignored)) files.push_back(it->path());
    }
    if (error) return bad_input("cannot read the weights in {}: {}", folder.string(), error.message());
    const auto is_safetensors = [](const fs::path& file) { return file.extension() == ".safetensors"; };
    if (std::ranges::any_of(files, is_safetensors)) std::erase_if(files, std::not_fn(is_safetensors));
    std::ranges::sort(files);
    return files;
}

}  // namespace

Result<std::uint64_t> weights_fingerprint(const fs::path& folder) {
    PLIMSOLL_TRY(const auto files, files_below(folder));
    std::uint64_t hash = 0;
    std::string bytes;
    for (const fs::path& path : files) {
        hash = xxh64(path.lexically_relative(folder).string(), hash);
        PLIMSOLL_TRY(const auto file, FileReader::open(path));
        for (std::uint64_t at = 0; at < file.size(); at += read_at_once) {
            bytes.resize(std::min(read_at_once, file.size() - at));
            PLIMSOLL_CHECK(file.read(bytes.data(), bytes.size(), at));
            hash = xxh64(bytes, hash);
        }
    }
    return std::max<std::uint64_t>(hash, 1);
}

}  // namespace plimsoll
