// SPDX-License-Identifier: Apache-2.0
// plimsoll presets, plimsoll schema: the plans and models to start from, and the fields of a plan.
#include "core/plan/presets.h"

#include <algorithm>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"
#include "core/plan/gpu.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/plan_schema.h"

namespace plimsoll::cli {

namespace {

Result<int> presets_json() {
    Json plans = Json::array(), models = Json::array(), gpus = Json::array();
    for (const std::string& name : plan_preset_names()) {
        PLIMSOLL_TRY(const auto plan, plan_preset(name));
        plans.push_back({{"name", name}, {"title", plan.name}});
    }
    for (const std::string& name : model_preset_names()) {
        PLIMSOLL_TRY(const auto model, model_preset(name));
        models.push_back({{"name", name}, {"parameters", count_parameters(model).total}});
    }
    for (const Gpu& gpu : gpu_catalogue()) gpus.push_back({{"name", gpu.name}, {"usable_gib", gpu.usable_gib}});
    say_json({{"plans", plans}, {"models", models}, {"gpus", gpus}});
    return 0;
}

/// Names are copied into plans and commands, so none is cut.
std::size_t width_of(const std::vector<std::string>& names) {
    std::size_t width = 0;
    for (const std::string& name : names) width = std::max(width, shown_width(name));
    return width;
}

Result<int> presets() {
    std::vector<std::string> gpus;
    for (const Gpu& gpu : gpu_catalogue()) gpus.push_back(gpu.name);
    const std::size_t width = std::max({width_of(plan_preset_names()), width_of(model_preset_names()), width_of(gpus)});
    say(bold("Plans") + "\n");
    for (const std::string& name : plan_preset_names()) {
        PLIMSOLL_TRY(const auto plan, plan_preset(name));
        say(fmt::format("  {} {}\n", fitted(name, width), plan.name));
    }
    say("\n" + bold("Models") + "\n");
    for (const std::string& name : model_preset_names()) {
        PLIMSOLL_TRY(const auto model, model_preset(name));
        say(fmt::format("  {} {} parameters\n", fitted(name, width),
                        fitted(format_count(count_parameters(model).total), 16, true)));
    }
    say("\n" + bold("GPUs") + "\n");
    for (const Gpu& gpu : gpu_catalogue()) {
        say(fmt::format("  {} {} usable\n", fitted(gpu.name, width),
                        fitted(fmt::format("{:.1f} GiB", gpu.usable_gib), 16, true)));
    }
    return 0;
}

}  // namespace

void add_presets(CLI::App& app, Work& work) {
    CLI::App* list = add_command(app, "presets", "List the plan presets, the model presets and the GPU catalogue");
    const auto as_json = std::make_shared<bool>(false);
    list->add_flag("--json", *as_json, "JSON");
    list->callback([as_json, &work] { work = [as_json] { return *as_json ? presets_json() : presets(); }; });
    CLI::App* schema = add_command(app, "schema", "Print the JSON Schema of a plan, with every key's meaning");
    schema->callback([&work] {
        work = []() -> Result<int> {
            say_json(plan_schema());
            return 0;
        };
    });
}

}  // namespace plimsoll::cli
