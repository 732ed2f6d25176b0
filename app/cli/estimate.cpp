// SPDX-License-Identifier: Apache-2.0
// plimsoll estimate: training memory per rank, term by term.
#include "core/estimate/estimate.h"
#include "core/base/json.h"

#include <algorithm>
#include <optional>

#include "app/cli/reports/interval_report.h"
#include "app/cli/reports/memory_report.h"
#include "app/cli/reports/remedies_report.h"
#include "app/cli/terminal/hardware_arguments.h"
#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/estimate/estimate_json.h"
#include "core/frameworks/estimate_under.h"
#include "core/remedies/find_remedies.h"
#include "core/remedies/remedies.h"
#include "core/remedies/remedies_json.h"

namespace plimsoll::cli {

namespace {

struct EstimateArguments {
    PlanArguments plan;
    std::string gpu;
    std::optional<std::int64_t> gpus;
    std::string framework = "plimsoll";
    std::string step;
    bool json = false;
    bool sources = false;
    bool remedies = false;
    bool check = false;
};

/// The same command line with changed settings.
std::string call_with(const EstimateArguments& arguments, const std::vector<std::string>& more) {
    const auto key = [](const std::string& setting) { return setting.substr(0, setting.find('=')); };
    std::vector<std::string> settings = arguments.plan.settings;
    for (const std::string& setting : more)
        std::erase_if(settings, [&](const std::string& old) { return key(old) == key(setting); });
    settings.insert(settings.end(), more.begin(), more.end());
    std::string words = "plimsoll estimate " + arguments.plan.plan;
    if (!arguments.gpu.empty()) words += fmt::format(" --gpu \"{}\"", arguments.gpu);
    if (arguments.gpus) words += fmt::format(" --gpus {}", *arguments.gpus);
    return fmt::format("{} --set {}", words, fmt::join(settings, " "));
}

Result<MemoryEstimate> memory_of(Framework framework, const Plan& plan, const std::string& step) {
    if (step.empty()) return estimate_under(framework, plan);
    const auto loop = find_step_loop(step);
    if (!loop) return bad_input("--optimizer-step is {}, not \"{}\"", fmt::join(step_loop_names, ", "), step);
    if (framework == Framework::Plimsoll)
        return bad_input("--optimizer-step is for another --framework: Plimsoll's engine steps in one way");
    return estimate_under(framework, plan, *loop);
}

Result<int> estimate(EstimateArguments& arguments) {
    PLIMSOLL_TRY(const auto plan, arguments.plan.load([&](Plan read) {
        return on_hardware(std::move(read), arguments.gpu, arguments.gpus, arguments.plan.settings);
    }));
    const auto framework = find_framework(arguments.framework);
    if (!framework)
        return bad_input("no framework is called \"{}\"; known are {}", arguments.framework,
                         fmt::join(framework_names, ", "));
    PLIMSOLL_TRY(const auto memory, memory_of(*framework, plan, arguments.step));
    std::optional<Remedies> found;
    // The savings of remedies are computed for Plimsoll's own engine.
    const bool own = *framework == Framework::Plimsoll;
    if (own && (arguments.remedies || !memory.fits())) found = find_remedies(plan, memory);
    const int code = arguments.check && !memory.fits() ? 1 : 0;
    if (arguments.json) {
        Json json = to_json(memory, plan);
        add_intervals(json, *framework, memory, plan);
        if (found) json.update(to_json(*found));
        say_json(json);
        return code;
    }
    say(memory_report(memory, plan, arguments.sources));
    say("\n" + interval_report(*framework, memory, plan));
    if (!found) return code;
    const std::string call = found->set ? call_with(arguments, found->set->settings) : std::string();
    say("\n" + remedies_report(*found, memory, call, arguments.sources));
    return code;
}

}  // namespace

void add_estimate(CLI::App& app, Work& work) {
    CLI::App* command =
        add_command(app, "estimate", "Training memory per rank, term by term, against what the GPU has");
    const auto arguments = std::make_shared<EstimateArguments>();
    arguments->plan.add_to(*command);
    command->add_option("--gpu", arguments->gpu, "GPU of the catalogue (\"A100 SXM4 80GB\", h100), or cpu")
        ->type_name("NAME");
    command->add_option("--gpus", arguments->gpus, "GPUs in all; dp follows, the global batch stays")->type_name("N");
    command
        ->add_option("--framework", arguments->framework,
                     fmt::format("Whose memory: {}", fmt::join(framework_names, ", ")))
        ->type_name("NAME")
        ->capture_default_str();
    command
        ->add_option(
            "--optimizer-step", arguments->step,
            fmt::format("How the optimizer steps under another framework: {} (left out: as in the exported file)",
                        fmt::join(step_loop_names, ", ")))
        ->type_name("NAME");
    command->add_flag("--json", arguments->json,
                      "JSON: model.parameters and every term in bytes, with formula and source");
    command->add_flag("--check", arguments->check, "Exit code 1 when the plan does not fit, for scripts");
    command->add_flag("--sources", arguments->sources, "Also print where each formula comes from");
    command->add_flag(
        "--remedies", arguments->remedies,
        "Also print what would save memory and what it costs in time (always printed when it does not fit)");
    command->callback([arguments, &work] { work = [arguments] { return estimate(*arguments); }; });
}

}  // namespace plimsoll::cli
