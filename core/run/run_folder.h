// SPDX-License-Identifier: Apache-2.0
// A run is a folder that outlives the window (core/telemetry/contract/run_layout.h says what lies where):
//   the state (see RunState) is rewritten atomically by the supervisor;
//   the lock (F_OFD_SETLK) is held by the supervisor while it lives: the only sign of life that is trusted;
//   control holds commands, a line each: "stop", "now", "kill" (StopWish of supervisor.h); it is removed at the end of a
//   run.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/run/resume_checks.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

enum class RunStatus { Starting, Running, Stopping, Finished, Stopped, Failed };
inline constexpr std::array<std::string_view, 6> run_status_names{"starting", "running", "stopping",
                                                                  "finished", "stopped", "failed"};
inline constexpr std::string_view name_of(RunStatus status) {
    return run_status_names[static_cast<std::size_t>(status)];
}

struct RunState {
    RunStatus status = RunStatus::Starting;
    std::string reason;  ///< why it failed or stopped, one sentence with the rank and what to do
    std::int64_t world_size = 0;
    std::int64_t supervisor_pid = 0;
    double started = 0;  ///< seconds since the epoch
    double ended = 0;    ///< 0 while live
};

class RunFolder {
public:
    explicit RunFolder(std::filesystem::path path) : layout_(std::move(path)) {}

    /// Makes the folder and writes plan.json and run.json ("starting"). An existing run folder is an error unless it is
    /// not live and `resume`; then check_resume() says whether it can go on with the plan. With `resume` a missing
    /// folder is an error. From scratch its checkpoints are put aside, as checkpoints.1 and so on. A relative data path is made absolute: the run outlives the folder it was started from.
    /// Nothing that was there is changed on an error.
    static Result<RunFolder> create(const std::filesystem::path& path, const Plan& plan, bool resume,
                                    const ResumeOptions& options = {});
    /// Opens an existing run folder; the error says when a folder is none.
    static Result<RunFolder> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return layout_.run(); }
    std::string name() const { return path().filename().string(); }
    const RunLayout& layout() const { return layout_; }
    std::filesystem::path plan_path() const { return layout_.plan(); }
    std::filesystem::path lock_path() const { return layout_.lock(); }
    std::filesystem::path control_path() const { return layout_.control(); }
    std::filesystem::path telemetry_path(int rank) const { return layout_.record(rank); }
    std::filesystem::path log_path(int rank) const { return layout_.log(rank); }
    std::filesystem::path checkpoints() const { return layout_.checkpoints(); }

    Result<Plan> plan() const;
    /// The recorded state. A state "running" while nobody holds the lock is reported as Failed with the reason. A run
    /// that was created within the last seconds and waits for its supervisor is Starting.
    Result<RunState> state() const;
    /// Works on a full disk as well, where the state has been written before.
    Result<void> write_state(const RunState& state) const;
    bool live() const;                                       ///< somebody holds the lock
    Result<void> request(const std::string& command) const;  ///< appends to control

private:
    RunLayout layout_;
};

}  // namespace plimsoll
