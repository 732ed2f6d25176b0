// SPDX-License-Identifier: Apache-2.0
// plimsoll export: what is here in another tool's format.
#include <system_error>

#include "app/cli/plan_arguments.h"
#include "app/cli/terminal.h"
#include "core/interop/deepspeed.h"

namespace plimsoll::cli {

namespace {

struct Arguments {
    PlanArguments plan;
    std::string output;
};

Result<int> export_to_deepspeed(Arguments& arguments) {
    const auto plan = arguments.plan.load();
    if (!plan) return tl::unexpected(plan.error());
    const auto exported = export_deepspeed(*plan);
    if (!exported) return tl::unexpected(exported.error());
    if (arguments.output.empty()) {
        say(exported->json.dump(2) + "\n");
    } else {
        std::error_code ignored;
        if (std::filesystem::equivalent(arguments.output, arguments.plan.plan, ignored)) {
            return bad_input("{} is the plan itself: name another file for the export", arguments.output);
        }
        if (auto written = write_json(arguments.output, exported->json); !written)
            return tl::unexpected(written.error());
    }
    for (const std::string& note : exported->notes) fmt::print(stderr, "note: {}\n", note);
    return 0;
}

}  // namespace

void add_export(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "export", "Write the plan, or a run's weights, for another tool");
    command->require_subcommand(1);
    CLI::App* deepspeed =
        add_command(*command, "deepspeed", "DeepSpeed's JSON config; what it cannot say is noted on standard error");
    const auto arguments = std::make_shared<Arguments>();
    arguments->plan.add_to(*deepspeed);
    deepspeed
        ->add_option("-o,--output", arguments->output,
                     "File to write (whole or not at all); standard output without it")
        ->type_name("FILE");
    deepspeed->callback([arguments, &work] { work = [arguments] { return export_to_deepspeed(*arguments); }; });
    add_export_hf(*command, work);
}

}  // namespace plimsoll::cli
