// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_trash.h"

#include <system_error>

#include "core/base/write_error.h"
#include "core/run/folder_bytes.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

/// `name` in `folder`, with a number behind it where it is taken.
fs::path free_place(const fs::path& folder, const std::string& name) {
    fs::path place = folder / name;
    std::error_code ignored;
    for (int number = 2; fs::exists(place, ignored); ++number) place = folder / fmt::format("{}-{}", name, number);
    return place;
}

}  // namespace

fs::path trash_of(const fs::path& store) { return store / ".trash"; }

Result<fs::path> put_in_trash(const RunFolder& run) {
    if (run.live()) return bad_input("{} is training: stop it before you delete it", run.name());
    const fs::path trash = trash_of(run.path().parent_path());
    std::error_code error;
    fs::create_directories(trash, error);
    if (error) return bad_input("{}", write_error(trash, error.value()));
    const fs::path place = free_place(trash, run.name());
    fs::rename(run.path(), place, error);
    if (error) return bad_input("{} cannot be moved to the trash: {}", run.path().string(), error.message());
    return place;
}

Result<fs::path> put_back(const fs::path& trashed) {
    const fs::path store = trashed.parent_path().parent_path();
    const fs::path place = free_place(store, trashed.filename().string());
    std::error_code error;
    fs::rename(trashed, place, error);
    if (error) return bad_input("{} cannot be brought back: {}", trashed.filename().string(), error.message());
    return place;
}

Trash count_trash(const fs::path& store) {
    Trash trash;
    std::error_code error;
    for (auto run = fs::directory_iterator(trash_of(store), error); !error && run != fs::directory_iterator();
         run.increment(error)) {
        ++trash.runs;
        trash.bytes += folder_bytes(run->path());
    }
    return trash;
}

Result<void> empty_trash(const fs::path& store) {
    std::error_code error;
    fs::remove_all(trash_of(store), error);
    if (error) return bad_input("the trash cannot be emptied: {}", error.message());
    return {};
}

}  // namespace plimsoll
