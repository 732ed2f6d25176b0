// SPDX-License-Identifier: Apache-2.0
// plimsoll watch: a run's plots in the terminal, or its recorded points as JSON.
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "app/cli/reports/watch_view.h"
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/interrupt.h"
#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/base/output.h"
#include "core/run/run_store.h"

namespace plimsoll::cli {

namespace {

struct WatchArguments {
    std::string run = "latest";
    std::vector<std::string> series;
    CLI::Option* json = nullptr;
    bool once = false;
    bool follow = false;
};

bool over(const Result<RunState>& state) { return !state || state->status >= RunStatus::Finished; }

/// JSON has no NaN and no infinities: strings "NaN", "Infinity" and "-Infinity" stand for them.
Json number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

/// Names under which a run may record later.
bool may_come(const std::string& name) { return is_series(name.substr(0, name.find('@'))); }

Result<int> print_json(const WatchArguments& arguments, const RunTelemetry& telemetry) {
    const auto& all = telemetry.series().series();
    std::vector<std::string> names = arguments.series;
    std::erase(names, "");  // CLI11's value for an option without values
    if (names.empty()) {
        for (const auto& [name, points] : all) names.push_back(name);
    }
    Json series_json = Json::object(), units = Json::object();
    for (const std::string& name : names) {
        const Pyramid* points = telemetry.series().find(name);
        if (points == nullptr && !may_come(name)) {
            std::vector<std::string> known;
            for (const auto& [held, ignored] : all) known.push_back(held);
            return bad_input("the run {} has no series \"{}\"{}; it has: {}", telemetry.run().name(), name,
                             did_you_mean(name, known), fmt::join(known, ", "));
        }
        Json list = Json::array();
        for (std::size_t i = 0; points != nullptr && i < points->size(); ++i) {
            list.push_back(Json::array({points->step(i), number(points->value(i))}));
        }
        series_json[name] = std::move(list);
        units[name] = telemetry.series().unit(name);
    }
    const auto state = telemetry.run().state();
    Json out = {{"run", telemetry.run().path().string()},
                {"status", state ? std::string(name_of(state->status)) : "damaged"},
                {"reason", state ? state->reason : state.error().message},
                {"units", std::move(units)},
                {"series", std::move(series_json)}};
    say_json(out, /*one_line=*/true);
    return 0;
}

void read_all(RunTelemetry& telemetry) {
    do {
        telemetry.poll();
    } while (!telemetry.at_end());
}

void tell_damage(const RunTelemetry& telemetry) {
    for (const std::string& sentence : telemetry.damages()) warn(sentence);
}

void print_view(const RunTelemetry& telemetry, const Result<RunState>& state, std::int64_t steps, TerminalSize size,
                const char* line_end) {
    for (const std::string& line : watch_view(telemetry, state, steps, size)) {
        say_exactly(without_escapes(line) + line_end);
    }
    std::fflush(stdout);
}

/// Redraws on the terminal's second screen, so that the first one is unchanged afterwards.
void follow_on_screen(RunTelemetry& telemetry, std::int64_t steps) {
    count_interrupts();
    say_exactly("\x1b[?1049h\x1b[?25l");
    auto state = telemetry.run().state();
    while (interrupts == 0) {
        const bool last = over(state);
        telemetry.poll();
        say_exactly("\x1b[H");
        print_view(telemetry, state, steps, terminal_size(), "\x1b[K\n");
        say_exactly("\x1b[J");
        std::fflush(stdout);
        if (last && telemetry.at_end()) break;
        ::usleep(250'000);
        state = telemetry.run().state();
    }
    say_exactly("\x1b[?25h\x1b[?1049l");
}

/// Without a terminal: a line a second at most.
void follow_as_lines(RunTelemetry& telemetry, std::int64_t steps) {
    count_interrupts();
    std::uint64_t shown = 0;
    auto state = telemetry.run().state();
    while (interrupts == 0) {
        const bool last = over(state);
        telemetry.poll();
        const Pyramid* loss = telemetry.series().find(series::loss);
        if (loss != nullptr && loss->size() > 0 && loss->step(loss->size() - 1) != shown) {
            shown = loss->step(loss->size() - 1);
            say(fmt::format("step {} of {}  loss {:.4f}\n", shown, steps, loss->value(loss->size() - 1)));
            if (!flush_output()) return;
        }
        if (last && telemetry.at_end()) return;
        ::usleep(1'000'000);
        state = telemetry.run().state();
    }
}

Result<int> watch(const WatchArguments& arguments) {
    PLIMSOLL_TRY(const auto run, find_run(arguments.run));
    RunTelemetry telemetry(run);
    if (arguments.json->count() > 0) {
        read_all(telemetry);
        tell_damage(telemetry);
        return print_json(arguments, telemetry);
    }
    const auto plan = run.plan();
    const std::int64_t steps = plan ? plan->training.steps : 0;
    const bool follow = arguments.follow || (!arguments.once && is_terminal(stdout));
    if (follow && !over(run.state())) {
        if (is_terminal(stdout))
            follow_on_screen(telemetry, steps);
        else
            follow_as_lines(telemetry, steps);
    }
    read_all(telemetry);
    const auto state = run.state();
    if (telemetry.series().series().empty() && telemetry.series().events().empty()) {
        // Without a state only the problem is shown.
        if (!state) return tl::unexpected(state.error());
        if (const auto problems = telemetry.problems(); !problems.empty()) return bad_input("{}", problems.front());
    }
    TerminalSize size = terminal_size();
    size.rows = std::max(size.rows, 44);  // printed output may scroll
    print_view(telemetry, state, steps, size, "\n");
    tell_damage(telemetry);
    return 0;
}

}  // namespace

void add_watch(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "watch", "Show a run's plots, live while it runs");
    const auto arguments = std::make_shared<WatchArguments>();
    command->add_option("RUN", arguments->run, "A run's name, its folder, or latest")->capture_default_str();
    arguments->json =
        command
            ->add_option(
                "--json", arguments->series,
                "Print the recorded points instead, as JSON: {\"run\", \"status\", \"reason\", \"units\", "
                "\"series\": {\"loss\": [[step, value], …]}}; of all series without a name. Series of rank R > 0 "
                "are \"memory@R\". NaN and infinities are \"NaN\", \"Infinity\", \"-Infinity\"")
            ->type_name("SERIES")
            ->expected(0, -1);
    auto* once = command->add_flag("--once", arguments->once, "Draw once and end (as where there is no terminal)");
    command->add_flag("--follow", arguments->follow, "Follow the run to its end, also where there is no terminal")
        ->excludes(once);
    command->callback([arguments, &work] { work = [arguments] { return watch(*arguments); }; });
}

}  // namespace plimsoll::cli
