// SPDX-License-Identifier: Apache-2.0
#include "app/cli/bench/bench_measure.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "app/cli/bench/short_run.h"
#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/median.h"
#include "core/estimate/estimate.h"
#include "core/run/processes/start_checks.h"
#include "core/run/processes/supervisor.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::cli {

namespace fs = std::filesystem;

namespace {

Bytes last(const Pyramid& line) { return static_cast<Bytes>(line.value(line.size() - 1)); }

Result<void> take_figures(const SeriesStore& store, const Variant& variant, Measured& into) {
    const auto ranks = static_cast<std::size_t>(variant.plan.layout.world_size());
    const Pyramid* rate = store.find(series::tokens_per_second);
    const Pyramid* loss = store.find(series::loss);
    const auto skip = static_cast<std::size_t>(steps_left_out(variant.plan.training.steps));
    if (rate == nullptr || loss == nullptr || rate->size() <= skip) {
        return failed("variant \"{}\" recorded too few steps to measure", variant.name);
    }
    std::vector<double> rates;
    for (std::size_t i = skip; i < rate->size(); ++i) rates.push_back(rate->value(i));
    into.step_rates.insert(into.step_rates.end(), rates.begin(), rates.end());
    into.round_rates.push_back(median(rates));
    into.loss = loss->value(loss->size() - 1);
    for (const Event& event : store.events()) {
        if (event.kind != EventKind::Memory) continue;
        const auto memory = MemoryEvent::from_json(event.details);
        if (memory && !memory->routing.empty()) into.routing[std::to_string(memory->rank)] = memory->routing;
    }
    into.peak.resize(ranks);
    into.resting.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        const Pyramid* peak = store.find(SeriesStore::name_on_rank(series::memory_peak, static_cast<int>(r)));
        const Pyramid* now = store.find(SeriesStore::name_on_rank(series::memory, static_cast<int>(r)));
        if (peak == nullptr || now == nullptr || peak->size() == 0 || now->size() == 0) {
            return failed("variant \"{}\": rank {} recorded no memory", variant.name, r);
        }
        into.peak[r] = std::max(into.peak[r], last(*peak));
        into.resting[r] = std::max(into.resting[r], last(*now));
        const Pyramid* step = store.find(SeriesStore::name_on_rank(series::memory_step_peak, static_cast<int>(r)));
        if (step == nullptr || step->size() == 0) continue;
        into.step_peak.resize(ranks);
        into.step_peak[r] = std::max(into.step_peak[r], last(*step));
    }
    return {};
}

Result<void> run_once(const Variant& variant, Measured& into) {
    return run_shortly(variant.plan, [&](const RunTelemetry& records, const RunState& end) -> Result<void> {
        if (end.status != RunStatus::Finished) return failed("variant \"{}\": {}", variant.name, end.reason);
        return take_figures(records.series(), variant, into);
    });
}

}  // namespace

std::int64_t steps_left_out(std::int64_t steps) { return std::min<std::int64_t>(2, steps - 1); }

double quantile(std::vector<double> numbers, double share) {
    if (numbers.empty()) return std::nan("");
    std::sort(numbers.begin(), numbers.end());
    const double at = share * static_cast<double>(numbers.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, numbers.size() - 1);
    return numbers[below] + (at - static_cast<double>(below)) * (numbers[above] - numbers[below]);
}

Result<void> check_variants(const std::vector<Variant>& variants) {
    std::error_code ignored;
    const fs::path place = fs::temp_directory_path(ignored) / "plimsoll-bench";
    PLIMSOLL_CHECK(find_worker());
    for (const Variant& variant : variants) {
        const auto start = check_start(variant.plan, place);
        if (!start) return bad_input("variant \"{}\": {}", variant.name, start.error().message);
    }
    return {};
}

Result<std::vector<Measured>> measure(const std::vector<Variant>& variants, std::int64_t rounds) {
    std::vector<Measured> all(variants.size());
    for (std::size_t v = 0; v < variants.size(); ++v) {
        PLIMSOLL_TRY(const auto estimate, estimate_memory(variants[v].plan));
        all[v].estimate = estimate.fullest().total();
    }
    count_interrupts();
    for (std::int64_t round = 1; round <= rounds; ++round) {
        for (std::size_t v = 0; v < variants.size(); ++v) {
            show_progress(fmt::format("round {} of {}: {} ({} of {}) …", round, rounds, variants[v].name, v + 1,
                                      variants.size()));
            auto done = run_once(variants[v], all[v]);
            if (done) continue;
            if (is_terminal(stderr)) show_progress("");
            return tl::unexpected(done.error());
        }
    }
    if (is_terminal(stderr)) show_progress("");
    return all;
}

}  // namespace plimsoll::cli
