// SPDX-License-Identifier: Apache-2.0
#include "app/cli/bench/short_run.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file.h"
#include "core/base/output.h"
#include "core/run/processes/supervisor.h"

namespace plimsoll::cli {

namespace fs = std::filesystem;

namespace {

/// A folder that is removed at the end in any case.
class TemporaryFolder {
public:
    static Result<TemporaryFolder> make() {
        std::error_code error;
        const fs::path parent = fs::temp_directory_path(error);
        std::string pattern = (parent / "plimsoll-bench-XXXXXX").string();
        if (error || ::mkdtemp(pattern.data()) == nullptr) {
            return bad_input("cannot make a folder in {}: {}; set TMPDIR to another place", parent.string(),
                             error ? error.message() : errno_text(errno));
        }
        return TemporaryFolder(pattern);
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    const fs::path& path() const { return path_; }

private:
    explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

}  // namespace

void show_progress(const std::string& text) {
    if (is_terminal(stderr)) {
        print_error(fmt::format("\r{}\x1b[K", text));
    } else if (!text.empty()) {
        print_error(text + "\n");
    }
}

Result<void> run_shortly(const Plan& plan,
                         const std::function<Result<void>(const RunTelemetry& records, const RunState& end)>& take) {
    PLIMSOLL_TRY(const auto folder, TemporaryFolder::make());
    PLIMSOLL_TRY(const auto run, RunFolder::create(folder.path() / "run", plan, false));
    SupervisorOptions options;
    options.wants_stop = [] { return interrupts > 0 ? StopWish::AtOnce : StopWish::None; };  // nothing is kept
    const auto state = supervise(run, options);
    if (interrupts > 0) return failed("stopped; nothing of the runs is kept");
    if (!state) return tl::unexpected(state.error());
    RunTelemetry records(run);
    while (records.poll() && !records.at_end()) {
    }
    return take(records, *state);
}

}  // namespace plimsoll::cli
