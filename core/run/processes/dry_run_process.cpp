// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/dry_run_process.h"

#include <fmt/ranges.h>

#include "core/plan/plan_io.h"
#include "core/run/processes/worker_process.h"

namespace plimsoll {

Result<Json> run_dry(const Plan& plan, const DryRunRequest& request) {
    const Json input =
        request.routing.is_null() ? to_json(plan) : Json{{"plan", to_json(plan)}, {"routing", request.routing}};
    std::vector<std::string> arguments{"--dry-run", "--ranks", fmt::format("{}", fmt::join(request.ranks, ",")),
                                       "--capacity", std::to_string(request.capacity)};
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) arguments.insert(arguments.end(), {name, value});
    };
    add("--allocator-settings", request.allocator_settings);
    add("--timeline", request.timeline.string());
    add("--memory-trace", request.trace.string());
    if (request.all_micro_batches) arguments.emplace_back("--all-micro-batches");
    PLIMSOLL_TRY(const auto figures, ask_worker(arguments, input.dump(), "a dry run", request.worker));
    return parse_json(figures, "the dry run's figures");
}

}  // namespace plimsoll
