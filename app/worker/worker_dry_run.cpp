// SPDX-License-Identifier: Apache-2.0
#include "app/worker/worker_dry_run.h"

#include <iostream>
#include <iterator>

#include "core/allocator/timeline_file.h"
#include "core/base/file.h"
#include "core/engine/dry_run/dry_run_report.h"
#include "core/plan/plan_io.h"

namespace plimsoll::worker {

namespace {

constexpr std::size_t most_standing = 20'000;

Result<void> write_files(const engine::DryRunResult& result, const DryRunArguments& arguments) {
    if (!arguments.timeline.empty()) {
        if (auto written = write_timeline(arguments.timeline, result.timeline); !written) return written;
    }
    if (arguments.trace.empty()) return {};
    return write_file_atomic(arguments.trace, trace_text(result.trace, result.step_begin));
}

/// {"0": [[rows of each expert] …]}: by rank, in the order of the step.
Result<std::vector<std::vector<std::int64_t>>> routing_of(const Json& json, int rank) {
    const std::string name = std::to_string(rank);
    if (!json.is_object() || !json.contains(name)) return std::vector<std::vector<std::int64_t>>();
    try {
        return json.at(name).get<std::vector<std::vector<std::int64_t>>>();
    } catch (const Json::exception&) {
        return bad_input("the routing of rank {} on standard input is no list of lists of numbers", rank);
    }
}

}  // namespace

Result<Json> dry_run(const DryRunArguments& arguments) {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    PLIMSOLL_TRY(const auto json, parse_json(text, "the plan on standard input"));
    // Either a plan, or a plan with the routing of a real step.
    const bool with_routing = json.is_object() && json.contains("routing") && json.contains("plan");
    PLIMSOLL_TRY(const auto loaded,
                 plan_from_json(with_routing ? json.at("plan") : json, "the plan on standard input"));
    PLIMSOLL_TRY(const auto settings, parse_allocator_settings(arguments.allocator_settings));

    Json ranks = Json::array();
    for (const int rank : arguments.ranks) {
        engine::DryRunOptions options;
        options.rank = rank;
        options.allocator = settings;
        options.capacity = arguments.capacity;
        options.all_micro_batches = arguments.all_micro_batches;
        if (with_routing) {
            PLIMSOLL_TRY(auto routing, routing_of(json.at("routing"), rank));
            options.routing = std::move(routing);
        }
        PLIMSOLL_TRY(const auto result, engine::dry_run(loaded.plan, options));
        if (ranks.empty()) {
            PLIMSOLL_CHECK(write_files(result, arguments));
        }
        ranks.push_back(engine::to_json(result, most_standing));
    }
    return Json{{"plan", loaded.plan.name},
                {"device", loaded.plan.cluster.gpu},
                {"capacity", arguments.capacity},
                {"allocator_settings", arguments.allocator_settings},
                {"ranks", std::move(ranks)}};
}

}  // namespace plimsoll::worker
