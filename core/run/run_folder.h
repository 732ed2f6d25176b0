// SPDX-License-Identifier: Apache-2.0
// A run is a folder that outlives the window:
//   plan.json          the plan as started
//   run.json           state (see RunState), rewritten atomically by the supervisor
//   lock               locked (F_OFD_SETLK) by the supervisor while it lives: the only sign of life that is trusted
//   control            commands appended by anyone, a line each: "stop", "kill"; removed at the end of a run
//   memory.json         what it took beside its estimate, once it ended (core/calibration)
//   telemetry/rank-R.rec, telemetry/supervisor.rec
//   logs/rank-R.log    what the rank printed
//   checkpoints/step-00000100/{model.safetensors, optimizer.safetensors, config.json, state.json}
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
    explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

    /// Makes the folder and writes plan.json and run.json ("starting"). An existing run folder is an error unless it is
    /// not live and `resume`; then the plan must be the recorded one, but for its name and training.steps. With
    /// `resume` a missing folder is an error. A relative data path is made absolute: the run outlives the
    /// folder it was started from. Nothing that was there is changed on an error.
    static Result<RunFolder> create(const std::filesystem::path& path, const Plan& plan, bool resume);
    /// Opens an existing run folder; the error says when a folder is none.
    static Result<RunFolder> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return path_; }
    std::string name() const { return path_.filename().string(); }
    std::filesystem::path plan_path() const { return path_ / "plan.json"; }
    std::filesystem::path lock_path() const { return path_ / "lock"; }
    std::filesystem::path control_path() const { return path_ / "control"; }
    std::filesystem::path telemetry_path(int rank) const;  ///< rank -1: the supervisor's
    std::filesystem::path log_path(int rank) const;
    std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

    Result<Plan> plan() const;
    /// The recorded state. A state "running" while nobody holds the lock is reported as Failed with the reason. A run
    /// that was created within the last seconds and waits for its supervisor is Starting.
    Result<RunState> state() const;
    Result<void> write_state(const RunState& state) const;
    bool live() const;                                       ///< somebody holds the lock
    Result<void> request(const std::string& command) const;  ///< appends to control

private:
    std::filesystem::path path_;
};

}  // namespace plimsoll
