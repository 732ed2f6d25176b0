// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/detached.h"

#include <system_error>

#include "core/base/clock.h"
#include "core/run/processes/process.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

Result<void> start(const RunFolder& run, const fs::path& program, Seconds rank_timeout) {
    std::error_code error;
    fs::create_directories(run.log_path(supervisor_rank).parent_path(), error);
    PLIMSOLL_TRY(const auto log, LogFile::open(run.log_path(supervisor_rank)));
    ProcessOptions options;
    options.arguments = {program.string(), "supervise", run.path().string()};
    if (rank_timeout > 0) {
        options.arguments.insert(options.arguments.end(), {"--timeout", fmt::format("{}", rank_timeout)});
    }
    options.out = options.err = log.fd.get();
    options.own_session = true;
    PLIMSOLL_CHECK(Process::start(options));
    return {};
}

}  // namespace

Result<void> start_detached(const RunFolder& run, const fs::path& program, Seconds rank_timeout) {
    auto started = start(run, program, rank_timeout);
    if (started) return started;
    auto state = run.state();
    if (!state) return started;
    state->status = RunStatus::Failed;
    state->reason = started.error().message;
    state->ended = wall_clock();
    (void)run.write_state(*state);  // the error itself is what counts
    return started;
}

fs::path program_folder() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path(".") : program.parent_path();
}

}  // namespace plimsoll
