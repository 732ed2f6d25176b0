// SPDX-License-Identifier: Apache-2.0
#include "app/worker/dry_run.h"

#include <iostream>
#include <iterator>

#include "core/allocator/timeline_file.h"
#include "core/base/file.h"
#include "core/engine/dry_run/dry_run_report.h"
#include "core/plan/plan_io.h"

namespace plimsoll::worker {

namespace {

constexpr std::size_t most_standing = 200;

Result<void> write_files(const engine::DryRunResult& result, const DryRunArguments& arguments) {
    if (!arguments.timeline.empty()) {
        if (auto written = write_timeline(arguments.timeline, result.timeline); !written) return written;
    }
    if (arguments.trace.empty()) return {};
    return write_file_atomic(arguments.trace, trace_text(result.trace, result.step_begin));
}

}  // namespace

Result<Json> dry_run(const DryRunArguments& arguments) {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const auto json = parse_json(text, "the plan on standard input");
    if (!json) return tl::unexpected(json.error());
    const auto loaded = plan_from_json(*json, "the plan on standard input");
    if (!loaded) return tl::unexpected(loaded.error());
    const auto settings = parse_allocator_settings(arguments.allocator_settings);
    if (!settings) return tl::unexpected(settings.error());

    Json ranks = Json::array();
    for (const int rank : arguments.ranks) {
        engine::DryRunOptions options;
        options.rank = rank;
        options.allocator = *settings;
        options.capacity = arguments.capacity;
        options.all_micro_batches = arguments.all_micro_batches;
        const auto result = engine::dry_run(loaded->plan, options);
        if (!result) return tl::unexpected(result.error());
        if (ranks.empty()) {
            if (auto written = write_files(*result, arguments); !written) return tl::unexpected(written.error());
        }
        ranks.push_back(engine::to_json(*result, most_standing));
    }
    return Json{{"plan", loaded->plan.name},
                {"device", loaded->plan.cluster.gpu},
                {"capacity", arguments.capacity},
                {"allocator_settings", arguments.allocator_settings},
                {"ranks", std::move(ranks)}};
}

}  // namespace plimsoll::worker
