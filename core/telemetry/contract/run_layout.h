// SPDX-License-Identifier: Apache-2.0
// Where each file of a run lies:
//   plan.json          the plan as started
//   run.json           how the run stands
//   lock               held by the supervisor while it lives
//   secret             of ranks that torchrun or Slurm started; their owner alone reads it (core/engine/ranks/run_secret.h)
//   control            commands appended by anyone, a line each
//   memory.json        what it took beside its estimate, once it ended (core/calibration)
//   telemetry/rank-R.rec, telemetry/supervisor.rec
//   logs/rank-R.log, logs/supervisor.log, logs/store.log
//   checkpoints/step-00000100/    (its files: core/checkpoint/checkpoint_state.h)
//   checkpoints/left-step-00000100/    of a branch that a rollback left: never taken up again
//   checkpoints.1/     those of a run that began again at step 0: never taken up again
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll {

/// Stands for the supervisor where files go by rank.
inline constexpr int supervisor_rank = -1;
/// Files of ranks from here on are no records of a run.
inline constexpr int max_ranks = 100'000;

class RunLayout {
public:
    explicit RunLayout(std::filesystem::path run) : run_(std::move(run)) {}

    const std::filesystem::path& run() const { return run_; }
    std::filesystem::path plan() const { return run_ / "plan.json"; }
    std::filesystem::path state() const { return run_ / "run.json"; }
    std::filesystem::path lock() const { return run_ / "lock"; }
    std::filesystem::path control() const { return run_ / "control"; }
    std::filesystem::path secret() const { return run_ / "secret"; }
    std::filesystem::path peak() const { return run_ / "memory.json"; }

    std::filesystem::path records() const { return run_ / "telemetry"; }
    std::filesystem::path record(int rank) const;  ///< supervisor_rank: the supervisor's
    std::filesystem::path logs() const { return run_ / "logs"; }
    std::filesystem::path log(int rank) const;
    std::filesystem::path store_log() const;

    std::filesystem::path checkpoints() const { return run_ / "checkpoints"; }
    std::filesystem::path checkpoint(std::int64_t step) const;
    std::filesystem::path old_checkpoints(int number) const;  ///< from 1
    std::filesystem::path left_checkpoint(std::int64_t step) const;

private:
    std::filesystem::path run_;
};

/// telemetry/rank-3.rec -> 3, telemetry/supervisor.rec -> supervisor_rank; nothing for any other file.
std::optional<int> rank_of(const std::filesystem::path& record);

/// "step-00000100".
std::string checkpoint_name(std::int64_t step);
/// The step in such a name; nothing for any other.
std::optional<std::int64_t> step_of(const std::string& name);
/// ".step-00000100.new": of a checkpoint that is being made or removed; a crash may leave it behind.
std::string hidden_checkpoint_name(std::int64_t step, std::string_view purpose);
bool is_hidden_checkpoint(std::string_view name);

}  // namespace plimsoll
