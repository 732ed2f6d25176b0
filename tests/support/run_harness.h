// SPDX-License-Identifier: Apache-2.0
// Real runs in temporary folders: a store and worker processes, started as the supervisor starts them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/telemetry/series_store.h"

namespace plimsoll::testing {

/// Removed at the end.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// 2 layers of width 32, sequences of 16 bytes of `corpus`, 6 steps of a global batch of 8 on one rank.
Plan small_plan(const std::string& model_preset, const std::filesystem::path& corpus);
/// Words in an order that can be learned, 8 KiB.
std::filesystem::path write_corpus(const std::filesystem::path& folder);
void write_plan(const std::filesystem::path& run, const Plan& plan);

using Environment = std::map<std::string, std::string>;

/// A child process with its output in files; killed at the end if it still lives.
class Child {
public:
    Child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
          const Environment& environment, const std::filesystem::path& output, const std::filesystem::path& errors);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }
    void signal(int number) const;
    /// The exit code, 128 + the signal it died of, or -1 when it still runs after a minute.
    int wait();
    std::string errors() const;
    std::string last_line() const;  ///< of what it wrote to stderr

private:
    pid_t pid_ = -1;
    int code_ = -2;  ///< not waited for yet
    std::filesystem::path errors_;
};

/// plimsoll-worker --store; its stdin is held open until the end.
class Store {
public:
    Store();
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    int port() const { return port_; }
    /// Closes stdin, as the end of the supervisor does; the exit code.
    int close();

private:
    pid_t pid_ = -1;
    int stdin_ = -1;
    int port_ = 0;
};

std::filesystem::path worker_program();

/// All ranks of one run.
class Ranks {
public:
    /// `more`: variables of each rank beside those that a supervisor sets.
    Ranks(const std::filesystem::path& run, int world_size, const std::vector<std::string>& arguments = {},
          const std::vector<Environment>& more = {});
    Child& rank(int rank) { return *children_.at(static_cast<std::size_t>(rank)); }
    /// Exit code of each.
    std::vector<int> wait();

private:
    Store store_;
    std::vector<std::unique_ptr<Child>> children_;
};

/// Trains the plan in `run` on plan.layout.dp ranks; a test failure with the ranks' last words unless all end well.
void train(const std::filesystem::path& run, const Plan& plan);

SeriesStore recorded(const std::filesystem::path& run, int world_size = 1);
std::vector<double> values(const SeriesStore& store, const std::string& series);
std::vector<Event> events_of(const SeriesStore& store, EventKind kind);
/// Waits until `series` holds that many points (or the run ends without them: false).
bool wait_for_points(const std::filesystem::path& run, const std::string& series, std::size_t count);

/// fp32 tensors of a safetensors file by name.
std::map<std::string, std::vector<float>> tensors_of(const std::filesystem::path& file);
std::filesystem::path checkpoint(const std::filesystem::path& run, int step);
std::string bytes_of(const std::filesystem::path& file);

}  // namespace plimsoll::testing
