// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/run_checks/run_facts.h"

#include <algorithm>
#include <cmath>

#include "core/base/median.h"
#include "core/control/robust_window.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::doctor {

Result<RunFacts> read_run(const RunFolder& run) {
    PLIMSOLL_TRY(auto plan, run.plan());
    PLIMSOLL_TRY(auto state, run.state());
    RunFacts facts{run, std::move(plan), std::move(state), run.live(), RunTelemetry(run)};
    while (facts.telemetry.poll(64 * MiB)) {
    }
    return facts;
}

Curve RunFacts::curve(const std::string& name, int rank) const {
    Curve curve;
    const Pyramid* points = store().find(SeriesStore::name_on_rank(name, rank));
    for (std::size_t i = 0; points != nullptr && i < points->size(); ++i) {
        if (!std::isfinite(points->value(i))) continue;
        curve.steps.push_back(points->step(i));
        curve.values.push_back(points->value(i));
    }
    return curve;
}

std::vector<const Event*> RunFacts::events(EventKind kind) const {
    std::vector<const Event*> all;
    for (const Event& event : store().events())
        if (event.kind == kind) all.push_back(&event);
    return all;
}

std::vector<const Event*> RunFacts::spikes() const {
    auto all = events(EventKind::Spike);
    for (const Event* event : events(EventKind::LossSpike)) all.push_back(event);
    return all;
}

bool RunFacts::failed_with(std::initializer_list<std::string_view> words) const {
    return failed() && std::any_of(words.begin(), words.end(),
                                   [&](std::string_view each) { return state.reason.find(each) != std::string::npos; });
}

double median_of(const Curve& curve, std::size_t begin, std::size_t end) {
    end = std::min(end, curve.size());
    if (begin >= end) return 0;
    const auto at = [&](std::size_t i) { return curve.values.begin() + static_cast<std::ptrdiff_t>(i); };
    return median({at(begin), at(end)});
}

std::string steps_words(const std::vector<const Event*>& events, std::size_t most) {
    std::vector<std::uint64_t> steps;
    for (std::size_t i = 0; i < std::min(most, events.size()); ++i) steps.push_back(events[i]->step);
    std::string words = fmt::format("{} {}", events.size() == 1 ? "step" : "steps", fmt::join(steps, ", "));
    if (events.size() > most) words += fmt::format(" and {} more", events.size() - most);
    return words;
}

std::string steps_count(std::size_t count) { return count == 1 ? "1 step" : fmt::format("{} steps", count); }

}  // namespace plimsoll::doctor
