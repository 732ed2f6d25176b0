// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/watch_view.h"

#include <algorithm>
#include <cmath>

#include "app/cli/reports/braille_plot.h"
#include "core/base/clock.h"
#include "core/base/units.h"

namespace plimsoll::cli {

namespace {

constexpr std::array colours{33, 214, 35, 170, 109, 196, 245, 37};

struct PlotSpec {
    const char* title;
    std::vector<std::string> series;
    bool every_rank = false;
};

const std::vector<PlotSpec>& plot_specs() {
    static const std::vector<PlotSpec> specs{{"loss", {series::loss, series::validation_loss}, false},
                                             {"router loss, and z-loss", {series::router_loss, series::z_loss}, false},
                                             {"gradient norm", {series::grad_norm}, false},
                                             {"learning rate", {series::lr}, false},
                                             {"tokens per second", {series::tokens_per_second}, false},
                                             {"memory, and its peak", {series::memory, series::memory_peak}, true},
                                             {"step time", {series::step_time}, true},
                                             {"loss scale", {series::loss_scale}, false}};
    return specs;
}

/// The series of a plot that hold points, from other ranks as well where the plot shows every rank.
std::vector<PlotLine> lines_of(const SeriesStore& store, const PlotSpec& spec) {
    std::vector<PlotLine> lines;
    for (const auto& [name, points] : store.series()) {
        const std::string plain = name.substr(0, name.find('@'));
        if (points.size() == 0 || (!spec.every_rank && plain != name)) continue;
        if (std::find(spec.series.begin(), spec.series.end(), plain) == spec.series.end()) continue;
        lines.push_back({&points, colours[lines.size() % colours.size()]});
    }
    return lines;
}

std::string heading(const RunTelemetry& telemetry, const Result<RunState>& state, std::int64_t steps) {
    std::string text = bold(telemetry.run().name());
    if (!state) return text + "  " + state.error().message;
    text += fmt::format("  {}", name_of(state->status));
    text += fmt::format(" on {} {}", state->world_size, state->world_size == 1 ? "rank" : "ranks");
    const Pyramid* loss = telemetry.series().find(series::loss);
    const auto step =
        loss == nullptr || loss->size() == 0 ? 0 : static_cast<std::int64_t>(loss->step(loss->size() - 1));
    text += fmt::format(" · step {} of {}", format_count(step), format_count(steps));
    const double end = state->ended > 0 ? state->ended : wall_clock();
    if (state->started > 0) text += " · " + format_seconds(std::max(0.0, end - state->started));
    return text;
}

}  // namespace

std::vector<std::string> watch_view(const RunTelemetry& telemetry, const Result<RunState>& state, std::int64_t steps,
                                    TerminalSize size) {
    const auto width = static_cast<std::size_t>(size.columns);
    std::vector<std::string> out{heading(telemetry, state, steps)};
    if (state && !state->reason.empty()) out.push_back(wrapped(printable(state->reason), width, 2));
    for (const std::string& problem : telemetry.problems()) out.push_back(coloured(problem, 196));

    std::vector<std::pair<const PlotSpec*, std::vector<PlotLine>>> plots;
    std::uint64_t first = 0;
    bool any = false;
    for (const PlotSpec& spec : plot_specs()) {
        auto lines = lines_of(telemetry.series(), spec);
        if (lines.empty()) continue;
        for (const PlotLine& line : lines) {
            first = any ? std::min(first, line.points->step(0)) : line.points->step(0);
            any = true;
        }
        plots.emplace_back(&spec, std::move(lines));
    }
    if (!any) out.emplace_back("nothing is recorded yet");

    // Two plots side by side where there is room; the rest of the height is shared, 3 rows a plot at least.
    const int across = size.columns >= 110 ? 2 : 1;
    const int events_room = 4;
    const int room = size.rows - static_cast<int>(out.size()) - events_room;
    const int down = std::max(1, std::min((static_cast<int>(plots.size()) + across - 1) / across, room / 5));
    const int rows = std::clamp(room / down - 2, 3, 12);
    const double to = static_cast<double>(telemetry.series().last_step()) + 1;
    for (int y = 0; y < down; ++y) {
        std::vector<std::vector<std::string>> side_by_side;
        for (int x = 0; x < across; ++x) {
            const auto i = static_cast<std::size_t>(y * across + x);
            if (i >= plots.size()) break;
            const auto& [spec, lines] = plots[i];
            const std::string unit = telemetry.series().unit(spec->series[0]);
            side_by_side.push_back(
                draw({spec->title, unit, lines, static_cast<double>(first), to, size.columns / across - 1, rows}));
        }
        for (std::size_t line = 0; !side_by_side.empty() && line < side_by_side[0].size(); ++line) {
            std::string text;
            for (const auto& plot : side_by_side)
                text += fitted(plot[line], width / static_cast<std::size_t>(across) - 1) + " ";
            out.push_back(text);
        }
    }
    if (any)
        out.push_back(fitted(fmt::format("steps {} to {}", first, telemetry.series().last_step()), width - 1, true));
    std::vector<const Event*> events;
    for (const Event& event : telemetry.series().events()) {
        if (!event.sentence.empty()) events.push_back(&event);
    }
    for (std::size_t i = events.size() - std::min<std::size_t>(events.size(), 3); i < events.size(); ++i) {
        out.push_back(fitted(fmt::format("{:>7}  {}", events[i]->step, printable(events[i]->sentence)), width - 1));
    }
    return out;
}

}  // namespace plimsoll::cli
