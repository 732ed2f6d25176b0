// SPDX-License-Identifier: Apache-2.0
// plimsoll runs, plimsoll stop.
#include <unistd.h>

#include <ctime>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"

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

Result<int> stop(const std::string& name, bool now) {
    PLIMSOLL_TRY(const auto run, find_run(name));
    auto state = run.state();
    if (!state) return tl::unexpected(state.error());
    if (state->status >= RunStatus::Finished) {
        say(fmt::format("{} is not running: it is {}\n", run.name(), name_of(state->status)));
        return 0;
    }
    PLIMSOLL_CHECK(run.request(now ? "kill" : "stop"));
    for (int i = 0; i < 200 && state && state->status < RunStatus::Finished; ++i) {
        ::usleep(50'000);
        state = run.state();
    }
    if (!state) return tl::unexpected(state.error());
    if (state->status < RunStatus::Finished) {
        return failed("{} did not stop within 10 s: its supervisor (process {}) does not answer", run.name(),
                      state->supervisor_pid);
    }
    say(fmt::format("{}: {}{}{}\n", run.name(), name_of(state->status), state->reason.empty() ? "" : ", ",
                    state->reason));
    return 0;
}

}  // namespace

void add_runs(CLI::App& app, Work& work) {
    CLI::App* list = add_command(app, "runs", "List the runs, newest first");
    const auto as_json = std::make_shared<bool>(false);
    list->add_flag("--json", *as_json, "JSON");
    list->callback([as_json, &work] { work = [as_json] { return runs(*as_json); }; });

    CLI::App* end =
        add_command(app, "stop", "Stop a run after its current step, with a checkpoint; within 2 seconds in any case");
    const auto name = std::make_shared<std::string>();
    const auto now = std::make_shared<bool>(false);
    end->add_option("RUN", *name, "A run's name, its folder, or latest")->required();
    end->add_flag("--now", *now, "Do not wait for the step: kill the workers");
    end->callback([name, now, &work] { work = [name, now] { return stop(*name, *now); }; });
}

}  // namespace plimsoll::cli
