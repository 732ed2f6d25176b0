// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/output.h"
#include "core/base/write_error.h"
#include "core/checkpoint/checkpoint_config.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/plan/plan_io.h"
#include "core/run/resume_checks.h"
#include "core/run/run_lock.h"
#include "core/telemetry/contract/own_files.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr double start_up_limit = 15;  // seconds from create() to the supervisor's lock

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

bool holds_run(const RunLayout& run) { return is_there(run.state()) && is_there(run.plan()); }

RunState starting(const Plan& plan) {
    RunState state;
    state.world_size = plan.layout.world_size();
    state.started = wall_clock();
    return state;
}

/// checkpoints/ becomes checkpoints.1, or the next number that is free.
Result<void> put_checkpoints_aside(const RunLayout& run) {
    std::error_code error;
    if (!is_there(run.checkpoints()) || fs::is_empty(run.checkpoints(), error)) return {};
    int number = 1;
    while (is_there(run.old_checkpoints(number))) ++number;
    fs::rename(run.checkpoints(), run.old_checkpoints(number), error);
    if (!error) fs::create_directory(run.checkpoints(), error);
    if (error) return failed("cannot put {} aside: {}", run.checkpoints().string(), error.message());
    return {};
}

Result<void> make_folders(const RunLayout& run) {
    std::error_code error;
    const bool there = fs::is_directory(run.run(), error);
    for (const fs::path& folder : {run.run(), run.records(), run.logs(), run.checkpoints()}) {
        fs::create_directories(folder, error);
        // Plans, texts and weights are the owner's alone, until he gives the folder to others.
        if (!error && !there && folder == run.run()) fs::permissions(folder, fs::perms::owner_all, error);
        if (error) return bad_input("cannot make the run folder: {}", write_error(folder, error.value()));
    }
    return {};
}

/// A full disk has no room for a new file, but the block that the old one has takes the new text as well: why a run
/// ended is known even then. False where that does not work either.
bool write_in_place(const fs::path& file, const Json& json) {
    constexpr std::size_t block = 4096;  // the least of common file systems
    const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat old {};
    if (fd.get() < 0 || ::fstat(fd.get(), &old) != 0 || !S_ISREG(old.st_mode)) return false;
    std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    // Never shorter than what it replaces, so that a reader in between finds no torn end.
    if (old.st_size > 0) text.resize(std::max(text.size(), static_cast<std::size_t>(old.st_size)), '\n');
    return text.size() <= block && write_all(fd.get(), text) == 0;
}

Result<RunState> state_from_json(const Json& json, const fs::path& path) {
    RunState state;
    const auto number = [&](const char* key) {
        return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0.0;
    };
    if (!json.is_object() || !json.contains("status") || !json["status"].is_string()) {
        return bad_input("{} does not say how the run stands (\"status\"); it is damaged", path.string());
    }
    const auto status = json["status"].get<std::string>();
    const auto name = std::find(run_status_names.begin(), run_status_names.end(), status);
    if (name == run_status_names.end()) {
        return bad_input("{}: the status \"{}\" is not known to this version", path.string(), status.substr(0, 40));
    }
    state.status = static_cast<RunStatus>(name - run_status_names.begin());
    if (json.contains("reason") && json["reason"].is_string()) state.reason = json["reason"].get<std::string>();
    const auto integer = [&](const char* key) {
        const double value = number(key);
        return std::fabs(value) < 1e15 ? static_cast<std::int64_t>(value) : 0;
    };
    state.world_size = integer("world_size");
    state.supervisor_pid = integer("supervisor_pid");
    state.started = number("started");
    state.ended = number("ended");
    return state;
}

}  // namespace

Result<RunFolder> RunFolder::create(const fs::path& wanted_path, const Plan& wanted, bool resume,
                                    const ResumeOptions& options) {
    std::error_code error;
    const fs::path path = fs::absolute(wanted_path, error).lexically_normal();
    if (error) return bad_input("cannot use {} as a run folder: {}", wanted_path.string(), error.message());
    Plan plan = wanted;
    for (std::string* text :
         {&plan.data.path, &plan.model.weights, &plan.adapter.weights, &plan.layout.schedule_file}) {
        const fs::path named(*text);
        if (!text->empty() && named.is_relative() && is_there(named)) {
            *text = fs::absolute(named).lexically_normal().string();
        }
    }

    // The run's exports write back what came with the weights, which may be gone by then.
    if (!plan.model.weights.empty() || !plan.adapter.weights.empty()) {
        keep_keys_of_weights(plan, plan.model.weights.empty() ? fs::path() : checkpoint_config(plan.model.weights));
    }

    const RunFolder run(path.filename().empty() ? path.parent_path() : path);
    const bool there = is_there(run.path());
    if (there && !fs::is_directory(run.path(), error)) {
        return bad_input("cannot use {} as a run folder: it is a file; choose another name", run.path().string());
    }
    const bool taken = holds_run(run.layout());
    if (resume && !taken) {
        return bad_input("nothing to resume: {} holds no run; leave --resume out to start one", run.path().string());
    }
    if (!taken && there && !fs::is_empty(run.path(), error)) {
        return bad_input("{} is not empty and holds no run: choose a new or an empty folder", run.path().string());
    }
    if (taken && run.live()) {
        return bad_input(
            "the run folder {} is in use by a live run: stop it first (plimsoll stop {}), or choose another folder",
            run.path().string(), run.path().string());
    }
    if (taken && !resume) {
        return bad_input("{} holds a run already: resume it with --resume, or choose another folder",
                         run.path().string());
    }
    if (taken) {
        PLIMSOLL_CHECK(check_own_files(run.layout()));
        PLIMSOLL_TRY(const auto recorded, run.plan());
        PLIMSOLL_CHECK(check_resume(run.layout(), recorded, plan, options));
    }

    const auto made = [&]() -> Result<void> {
        if (auto folders = make_folders(run.layout()); !folders) return folders;
        // Held while the folder is written: of two starts at once, one gets it.
        PLIMSOLL_TRY(const auto lock, RunLock::take(run.lock_path()));
        fs::remove(run.control_path(), error);
        if (options.from_scratch) {
            PLIMSOLL_CHECK(put_checkpoints_aside(run.layout()));
        }
        if (auto saved = save_plan(run.plan_path(), plan); !saved) return saved;
        return run.write_state(starting(plan));
    }();
    if (made) return run;
    if (!taken) {
        // Back to what was there before: nothing, or an empty folder.
        const RunLayout& made_here = run.layout();
        for (const fs::path& part : {made_here.records(), made_here.logs(), made_here.checkpoints(), made_here.lock(),
                                     made_here.plan(), made_here.state()}) {
            fs::remove_all(part, error);
        }
        if (!there) fs::remove(run.path(), error);
    }
    return tl::unexpected(made.error());
}

Result<RunFolder> RunFolder::open(const fs::path& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error).lexically_normal();
    RunFolder run(absolute.filename().empty() ? absolute.parent_path() : absolute);
    if (!is_there(run.path())) return bad_input("there is no run folder {}", run.path().string());
    if (!holds_run(run.layout()))
        return bad_input("{} is no run folder: it has no {} and {}", run.path().string(),
                         run.layout().state().filename().string(), run.layout().plan().filename().string());
    return run;
}

Result<Plan> RunFolder::plan() const {
    return load_plan(plan_path()).map([](LoadedPlan&& loaded) { return std::move(loaded.plan); });
}

Result<RunState> RunFolder::state() const {
    // Asked before reading: a supervisor writes its last word before it lets go of the lock.
    const bool alive = live();
    const fs::path file = layout_.state();
    PLIMSOLL_TRY(const auto text, read_file(file, 1 * MiB));
    PLIMSOLL_TRY(const auto json, parse_json(text, file.string()));
    auto state = state_from_json(json, file);
    if (!state || alive || state->status >= RunStatus::Finished) return state;
    const bool waits_for_supervisor = state->status == RunStatus::Starting && state->supervisor_pid == 0;
    if (waits_for_supervisor && std::fabs(wall_clock() - state->started) < start_up_limit) return state;
    state->status = RunStatus::Failed;
    state->reason = waits_for_supervisor
                        ? fmt::format(
                              "the run was made but its supervisor never started; {} may say why, and "
                              "`plimsoll train --resume --run {}` starts it",
                              log_path(supervisor_rank).string(), path().string())
                        : fmt::format(
                              "the supervisor died (killed, or the machine went down) and its workers with it; "
                              "`plimsoll train --resume --run {}` goes on from the last checkpoint",
                              path().string());
    return state;
}

Result<void> RunFolder::write_state(const RunState& state) const {
    const Json json{
        {"status", std::string(name_of(state.status))}, {"reason", state.reason},   {"world_size", state.world_size},
        {"supervisor_pid", state.supervisor_pid},       {"started", state.started}, {"ended", state.ended}};
    auto written = write_json(layout_.state(), json);
    if (written || write_in_place(layout_.state(), json)) return {};
    return written;
}

bool RunFolder::live() const { return RunLock::held(lock_path()); }

Result<void> RunFolder::request(const std::string& command) const {
    PLIMSOLL_TRY(const auto fd, open_own(control_path(), O_WRONLY | O_CREAT | O_APPEND));
    const int error = write_all(fd.get(), command + "\n");
    if (error == 0) return {};
    return failed("{}", write_error(control_path(), error));
}

}  // namespace plimsoll
