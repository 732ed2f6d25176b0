// SPDX-License-Identifier: Apache-2.0
// plimsoll presets, plimsoll schema: the plans and models to start from, and the fields of a plan.
#include "core/plan/presets.h"

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"
#include "core/plan/gpu.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/plan_schema.h"

namespace plimsoll::cli {

namespace {

Result<int> presets() {
    say(bold("Plans") + "\n");
    for (const std::string& name : plan_preset_names()) {
        PLIMSOLL_TRY(const auto plan, plan_preset(name));
        say(fmt::format("  {} {}\n", fitted(name, 26), plan.name));
    }
    say("\n" + bold("Models") + "\n");
    for (const std::string& name : model_preset_names()) {
        PLIMSOLL_TRY(const auto model, model_preset(name));
        say(fmt::format("  {} {} parameters\n", fitted(name, 26),
                        fitted(format_count(count_parameters(model).total), 16, true)));
    }
    say("\n" + bold("GPUs") + "\n");
    for (const Gpu& gpu : gpu_catalogue()) {
        say(fmt::format("  {} {} usable\n", fitted(gpu.name, 26),
                        fitted(fmt::format("{:.1f} GiB", gpu.usable_gib), 16, true)));
    }
    return 0;
}

}  // namespace

void add_presets(CLI::App& app, Work& work) {
    CLI::App* list = add_command(app, "presets", "List the plan presets, the model presets and the GPU catalogue");
    list->callback([&work] { work = presets; });
    CLI::App* schema = add_command(app, "schema", "Print the JSON Schema of a plan, with every key's meaning");
    schema->callback([&work] {
        work = []() -> Result<int> {
            say(plan_schema().dump(2) + "\n");
            return 0;
        };
    });
}

}  // namespace plimsoll::cli
