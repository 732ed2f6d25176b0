// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/folder_aside.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/base/file_io.h"
#include "core/base/random_text.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

/// Headers, index and configuration, with room to spare.
constexpr Bytes beside_tensors = 16 * MiB;

}  // namespace

Result<FolderAside> FolderAside::make(const fs::path& out) {
    const fs::path named = out.has_filename() ? out : out.parent_path();
    PLIMSOLL_TRY(const std::string random, random_text(8));
    fs::path aside = named.parent_path() / fmt::format(".{}.{}.tmp", named.filename().string(), random);
    std::error_code error;
    if (!fs::create_directory(aside, error)) {
        return bad_input("cannot make the folder {}: {}; choose another place with --out", out.string(),
                         error ? error.message() : fmt::format("{} is there", aside.string()));
    }
    return FolderAside(named, std::move(aside));
}

FolderAside::~FolderAside() {
    std::error_code ignored;
    if (!aside_.empty()) fs::remove_all(aside_, ignored);
}

Result<void> FolderAside::put_in_place() {
    if (auto synced = sync_folder(aside_); !synced) return synced;
    int failure = 0;
    if (::renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, out_.c_str(), RENAME_NOREPLACE) != 0) failure = errno;
    // File systems without the flag (NFS): rename() puts a folder in the place of an empty one at most.
    if (failure == EINVAL) failure = ::rename(aside_.c_str(), out_.c_str()) == 0 ? 0 : errno;
    if (failure == EEXIST || failure == ENOTEMPTY) return bad_input("{} is there meanwhile", out_.string());
    if (failure != 0) return bad_input("cannot put {} in place: {}", out_.string(), errno_text(failure));
    aside_.clear();
    return sync_folder(out_.has_parent_path() ? out_.parent_path() : fs::path("."));
}

Result<void> require_free_place(const fs::path& out, Bytes total) {
    std::error_code error;
    if (fs::symlink_status(out, error).type() != fs::file_type::not_found) {
        return bad_input("{} is there already and is left as it is; name another folder with --out, or remove it",
                         out.string());
    }
    const fs::path named = out.has_filename() ? out : out.parent_path();
    const fs::path parent = named.has_parent_path() ? named.parent_path() : fs::path(".");
    if (!fs::is_directory(parent, error)) {
        return bad_input("cannot export to {}: there is no folder {}; make it first", out.string(), parent.string());
    }
    const fs::space_info room = fs::space(parent, error);
    if (!error && room.available < static_cast<std::uint64_t>(total + beside_tensors)) {
        return bad_input("the disk of {} is too full: the weights take {} and {} are free; name another with --out",
                         parent.string(), format_bytes(total), format_bytes(static_cast<Bytes>(room.available)));
    }
    return {};
}

}  // namespace plimsoll
