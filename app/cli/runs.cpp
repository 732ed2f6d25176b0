// SPDX-License-Identifier: Apache-2.0
// plimsoll runs, plimsoll stop.
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/stop_words.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/output.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"
#include "core/run/run_telemetry.h"
#include "core/run/stop_wait.h"

namespace plimsoll::cli {

namespace {

std::string local_time(double seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm local{};
    char text[32] = "";
    if (::localtime_r(&time, &local) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
    return text;
}

Result<int> runs(bool as_json) {
    Json list = Json::array();
    const auto all = list_runs();
    if (!as_json && all.empty())
        say(fmt::format("no runs in {} yet: `plimsoll train` starts one\n", runs_folder().string()));
    std::size_t name_width = 0;
    for (const RunFolder& run : all) name_width = std::max(name_width, shown_width(printable(run.name())));
    for (const RunFolder& run : all) {
        const auto state = run.state();
        const std::string status(state ? name_of(state->status) : "damaged");
        const std::string reason = state ? state->reason : state.error().message;
        if (as_json) {
            Json entry = {{"name", run.name()}, {"path", run.path().string()}, {"status", status}, {"reason", reason}};
            if (state) {
                entry["world_size"] = state->world_size;
                entry["started"] = state->started;
                entry["ended"] = state->ended;
            }
            list.push_back(std::move(entry));
            continue;
        }
        std::string line = fitted(printable(run.name()), name_width) + "  " + fitted(status, 9);
        if (state) {
            const double end = state->ended > 0 ? state->ended : wall_clock();
            const bool over = state->status >= RunStatus::Finished;
            const std::string took =
                over && state->ended == 0 ? "" : format_seconds(std::max(0.0, end - state->started));
            line += fmt::format("{}  {}  {}", fitted(local_time(state->started), 16), fitted(took, 12, true),
                                state->world_size == 1 ? "1 rank" : fmt::format("{} ranks", state->world_size));
        }
        if (!reason.empty()) line += "\n    " + printable(reason);
        say(line + "\n");
    }
    if (as_json) say_json(list);
    return 0;
}

/// Shows what a run that stops still waits for: live in a terminal, else now and then.
class StopDisplay {
public:
    explicit StopDisplay(const RunFolder& run, bool now) : telemetry_(run), now_(now) {}
    ~StopDisplay() {
        if (line_open_) say("\r\x1b[K");
    }
    StopDisplay(const StopDisplay&) = delete;
    StopDisplay& operator=(const StopDisplay&) = delete;

    void show(const RunState& state) {
        const double time = wall_clock();
        // Most runs have ended before there is anything to say.
        if (time - asked_ < 1 || time - shown_ < (terminal_ ? 0.2 : 10)) return;
        shown_ = time;
        telemetry_.poll();
        const auto save = save_under_way(telemetry_.run().layout(), state.started);
        const StopWait wait = stop_wait(telemetry_.series(), save, state.started, time);
        std::string text = fmt::format("{} is stopping: {}", telemetry_.run().name(), wait_words(wait));
        if (!now_) text += fmt::format(" (`plimsoll stop --now {}` does not wait)", telemetry_.run().name());
        if (!terminal_) {
            say(text + "\n");
        } else {
            const auto width = static_cast<std::size_t>(terminal_size().columns) - 1;
            say(fmt::format("\r{}\x1b[K", fitted(text, std::min(width, shown_width(text)))));
            line_open_ = true;
        }
        (void)flush_output();
    }

private:
    RunTelemetry telemetry_;
    bool now_;
    bool terminal_ = is_terminal(stdout);
    bool line_open_ = false;
    double asked_ = wall_clock(), shown_ = 0;
};

/// Asks and waits, however long the step and the checkpoint take; Ctrl-C ends the waiting alone.
Result<RunState> stopped(const RunFolder& run, bool now) {
    constexpr double answer_limit = 10;  // seconds until a supervisor that lives has said that it stops
    const double asked = wall_clock();
    PLIMSOLL_CHECK(run.request(now ? "now" : "stop"));
    count_interrupts();
    StopDisplay display(run, now);
    for (;;) {
        ::usleep(50'000);
        PLIMSOLL_TRY(auto state, run.state());
        if (state.status >= RunStatus::Finished) return state;
        if (interrupts > 0) {
            return failed("{} was asked to stop and has not ended yet; `plimsoll runs` tells when it has", run.name());
        }
        if (state.status != RunStatus::Stopping && wall_clock() - asked > answer_limit) {
            return failed("{} was asked to stop, but its supervisor (process {}) has not answered for {:g} s",
                          run.name(), state.supervisor_pid, answer_limit);
        }
        display.show(state);
    }
}

Result<int> stop(const std::string& name, bool now) {
    PLIMSOLL_TRY(const auto run, find_run(name));
    PLIMSOLL_TRY(const auto before, run.state());
    if (before.status >= RunStatus::Finished) {
        say(fmt::format("{} is not running: it is {}\n", run.name(), name_of(before.status)));
        return 0;
    }
    PLIMSOLL_TRY(const auto state, stopped(run, now));
    if (state.status == RunStatus::Failed) return failed("{}: {}", run.name(), state.reason);
    const std::string words = state.reason.empty() ? std::string(name_of(state.status)) : state.reason;
    say(fmt::format("{}: {}\n", run.name(), words));
    return 0;
}

}  // namespace

void add_runs(CLI::App& app, Work& work) {
    CLI::App* list = add_command(app, "runs", "List the runs, newest first");
    const auto as_json = std::make_shared<bool>(false);
    list->add_flag("--json", *as_json, "JSON");
    list->callback([as_json, &work] { work = [as_json] { return runs(*as_json); }; });

    CLI::App* end =
        add_command(app, "stop",
                    "Stop a run after its current step, with a checkpoint, and wait for both; Ctrl-C ends the waiting "
                    "alone");
    const auto name = std::make_shared<std::string>();
    const auto now = std::make_shared<bool>(false);
    end->add_option("RUN", *name, "A run's name, its folder, or latest")->required();
    end->add_flag("--now", *now,
                  "Do not wait for the step: what it has done is lost. A checkpoint that is being written is finished");
    end->callback([name, now, &work] { work = [name, now] { return stop(*name, *now); }; });
}

}  // namespace plimsoll::cli
