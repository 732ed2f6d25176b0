// SPDX-License-Identifier: Apache-2.0
// A run's plan, state and records, as the checks of a run need them. Records may hold anything: entries of an
// unexpected kind are passed over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/run/run_telemetry.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::doctor {

/// The finite values of a series.
struct Curve {
    std::vector<std::uint64_t> steps;
    std::vector<double> values;
    std::size_t size() const { return values.size(); }
};

struct RunFacts {
    RunFolder run;
    Plan plan;
    RunState state;
    bool live = false;
    RunTelemetry telemetry;

    const SeriesStore& store() const { return telemetry.series(); }
    /// The main line of the series, without branches that a rollback abandoned.
    Curve curve(const std::string& name, int rank = 0) const;
    std::vector<const Event*> events(EventKind kind) const;
    /// Steps that the guard found to stand out by a spike, of the gradient norm first.
    std::vector<const Event*> spikes() const;
    bool failed() const { return state.status == RunStatus::Failed; }
    std::uint64_t last_step() const { return store().last_step(); }
    /// Whether the run failed with a sentence that contains one of `words`.
    bool failed_with(std::initializer_list<std::string_view> words) const;
};

Result<RunFacts> read_run(const RunFolder& run);

/// Median of values[begin, end); 0 of none.
double median_of(const Curve& curve, std::size_t begin, std::size_t end);
/// "steps 4, 9, 12 and 7 more".
std::string steps_words(const std::vector<const Event*>& events, std::size_t most = 6);
/// "1 step", "12 steps".
std::string steps_count(std::size_t count);

}  // namespace plimsoll::doctor
