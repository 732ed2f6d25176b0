// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "core/base/file.h"
#include "core/run/process.h"
#include "core/run/supervisor.h"

namespace plimsoll {

namespace fs = std::filesystem;

Result<void> start_detached(const RunFolder& run, const fs::path& program) {
    std::error_code error;
    fs::create_directories(run.log_path(-1).parent_path(), error);
    const UniqueFd log(::open(run.log_path(-1).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (log.get() < 0) return bad_input("cannot write {}: {}", run.log_path(-1).string(), errno_text(errno));
    ProcessOptions options;
    options.arguments = {program.string(), "supervise", run.path().string()};
    options.out = options.err = log.get();
    options.own_session = true;
    if (const auto started = Process::start(options); !started) return tl::unexpected(started.error());
    return {};
}

fs::path program_folder() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path(".") : program.parent_path();
}

}  // namespace plimsoll
