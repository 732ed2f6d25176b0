// SPDX-License-Identifier: Apache-2.0
// `fake_plimsoll supervise RUN` supervises; `fake_plimsoll start RUN` starts that detached and ends.
#include "core/base/output.h"
#include "core/run/processes/detached.h"
#include "core/run/processes/supervisor.h"

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const plimsoll::RunFolder run(argv[2]);
    if (std::string(argv[1]) == "start") {
        const auto started = plimsoll::start_detached(run, plimsoll::program_folder() / "fake_plimsoll");
        if (!started) plimsoll::print_error(started.error().message + "\n");
        return started ? 0 : 1;
    }
    const auto state = plimsoll::supervise(run, {});
    if (!state) plimsoll::print_error(state.error().message + "\n");
    return state && state->status == plimsoll::RunStatus::Finished ? 0 : 1;
}
