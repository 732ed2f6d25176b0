// SPDX-License-Identifier: Apache-2.0
// plimsoll estimate: training memory per rank, term by term.
#include "core/estimate/estimate.h"

#include <optional>

#include "app/cli/layout_change.h"
#include "app/cli/memory_report.h"
#include "app/cli/plan_arguments.h"
#include "app/cli/terminal.h"
#include "core/plan/gpu.h"

namespace plimsoll::cli {

namespace {

struct Arguments {
    PlanArguments plan;
    std::string gpu;
    std::optional<std::int64_t> gpus;
    bool json = false;
    bool sources = false;
};

Result<Plan> on_hardware(Plan plan, const Arguments& arguments) {
    if (!arguments.gpu.empty()) {
        if (arguments.gpu == "cpu") {
            plan.cluster.gpu = "cpu";
        } else {
            const auto gpu = find_gpu(arguments.gpu);
            if (!gpu) return tl::unexpected(gpu.error());
            plan.cluster.gpu = gpu->name;
        }
        plan.cluster.usable_gib = 0;  // what the plan said was about another card
    }
    return arguments.gpus ? with_gpus(std::move(plan), *arguments.gpus) : Result<Plan>(std::move(plan));
}

Result<int> estimate(Arguments& arguments) {
    const auto plan = arguments.plan.load([&](Plan read) { return on_hardware(std::move(read), arguments); });
    if (!plan) return tl::unexpected(plan.error());
    const auto memory = estimate_memory(*plan);
    if (!memory) return tl::unexpected(memory.error());
    say(arguments.json ? to_json(*memory, *plan).dump(2) + "\n" : memory_report(*memory, *plan, arguments.sources));
    return 0;
}

}  // namespace

void add_estimate(CLI::App& app, Work& work) {
    CLI::App* command =
        add_command(app, "estimate", "Training memory per rank, term by term, against what the GPU has");
    const auto arguments = std::make_shared<Arguments>();
    arguments->plan.add_to(*command);
    command->add_option("--gpu", arguments->gpu, "GPU of the catalogue (\"A100 SXM4 80GB\", h100), or cpu")
        ->type_name("NAME");
    command->add_option("--gpus", arguments->gpus, "GPUs in all; dp follows, the global batch stays where it divides")
        ->type_name("N");
    command->add_flag("--json", arguments->json,
                      "JSON: model.parameters and every term in bytes, with formula and source");
    command->add_flag("--sources", arguments->sources, "Also print where each formula comes from");
    command->callback([arguments, &work] { work = [arguments] { return estimate(*arguments); }; });
}

}  // namespace plimsoll::cli
