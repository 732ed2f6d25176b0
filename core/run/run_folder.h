// SPDX-License-Identifier: Apache-2.0
// A run is a folder that outlives the window:
//   plan.json          the plan as started
//   run.json           state (see RunState), rewritten atomically by the supervisor
//   lock               flock'ed by the supervisor as long as it lives: the only sign of life that is trusted
//   control            commands appended by anyone, a line each: "stop", "kill"
//   telemetry/rank-R.rec, telemetry/supervisor.rec
//   logs/rank-R.log    what the rank printed
//   checkpoints/step-00000100/{model.safetensors, optimizer.safetensors, state.json}
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

enum class RunStatus { Starting, Running, Stopping, Finished, Stopped, Failed };
inline constexpr std::array<std::string_view, 6> run_status_names{"starting", "running", "stopping",
                                                                   "finished", "stopped", "failed"};

struct RunState {
    RunStatus status = RunStatus::Starting;
    std::string reason;            ///< why it failed or stopped, one sentence with the rank and what to do
    std::int64_t world_size = 0;
    std::int64_t supervisor_pid = 0;
    double started = 0;            ///< seconds since the epoch
    double ended = 0;              ///< 0 while live
};

class RunFolder {
public:
    explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

    /// Makes the folder and writes plan.json. An existing run folder is an error unless it is not live and `resume`.
    static Result<RunFolder> create(const std::filesystem::path& path, const Plan& plan, bool resume);
    /// Opens an existing one; the error says when it is no run folder.
    static Result<RunFolder> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return path_; }
    std::string name() const { return path_.filename().string(); }
    std::filesystem::path plan_path() const { return path_ / "plan.json"; }
    std::filesystem::path telemetry_path(int rank) const;       ///< rank -1: the supervisor's
    std::filesystem::path log_path(int rank) const;
    std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

    Result<Plan> plan() const;
    /// The recorded state; "running" with nobody holding the lock is reported as Failed with the reason.
    Result<RunState> state() const;
    Result<void> write_state(const RunState& state) const;
    bool live() const;                                           ///< somebody holds the lock
    Result<void> request(const std::string& command) const;      ///< appends to control

private:
    std::filesystem::path path_;
};

/// $PLIMSOLL_RUNS, or $XDG_DATA_HOME/plimsoll/runs, or ~/.local/share/plimsoll/runs.
std::filesystem::path runs_folder();
/// "llama-tiny-2026-11-29-142233" under runs_folder(), not taken yet.
std::filesystem::path new_run_path(const Plan& plan);
/// Newest first.
std::vector<RunFolder> list_runs(const std::filesystem::path& store = runs_folder());

}  // namespace plimsoll
