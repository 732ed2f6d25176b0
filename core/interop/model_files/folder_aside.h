// SPDX-License-Identifier: Apache-2.0
// A folder that is whole or absent: made aside, then renamed.
#pragma once

#include <filesystem>
#include <utility>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

/// A folder that is made beside its final place. If it is destroyed before put_in_place(), nothing is left behind.
class FolderAside {
public:
    /// Error where the folder cannot be made; the sentence names `out` and --out.
    static Result<FolderAside> make(const std::filesystem::path& out);
    ~FolderAside();
    FolderAside(FolderAside&& other) noexcept : out_(std::move(other.out_)), aside_(std::exchange(other.aside_, {})) {}
    FolderAside& operator=(FolderAside&&) = delete;

    const std::filesystem::path& path() const { return aside_; }
    /// Error where something has appeared at the final place meanwhile.
    Result<void> put_in_place();

private:
    FolderAside(std::filesystem::path out, std::filesystem::path aside)
        : out_(std::move(out)), aside_(std::move(aside)) {}
    std::filesystem::path out_, aside_;
};

/// Error where `out` exists, its parent does not, or the disk has no room for `total` and the small files beside the
/// tensors.
Result<void> require_free_place(const std::filesystem::path& out, Bytes total);

}  // namespace plimsoll
