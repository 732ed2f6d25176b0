// SPDX-License-Identifier: Apache-2.0
#include "core/run/detached.h"

#include <system_error>

#include "core/run/process.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

namespace fs = std::filesystem;

Result<void> start_detached(const RunFolder& run, const fs::path& program) {
    std::error_code error;
    fs::create_directories(run.log_path(supervisor_rank).parent_path(), error);
    PLIMSOLL_TRY(const auto log, LogFile::open(run.log_path(supervisor_rank)));
    ProcessOptions options;
    options.arguments = {program.string(), "supervise", run.path().string()};
    options.out = options.err = log.fd.get();
    options.own_session = true;
    PLIMSOLL_CHECK(Process::start(options));
    return {};
}

fs::path program_folder() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path(".") : program.parent_path();
}

}  // namespace plimsoll
