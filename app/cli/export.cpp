// SPDX-License-Identifier: Apache-2.0
// plimsoll export: a plan, a checkpoint or records in another tool's format.
#include <system_error>

#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file.h"
#include "core/interop/exports/export_target.h"

namespace plimsoll::cli {

namespace {

struct ExportArguments {
    PlanArguments plan;
    std::string output;
};

Result<int> export_to(std::string_view target, ExportArguments& arguments) {
    PLIMSOLL_TRY(const auto plan, arguments.plan.load());
    PLIMSOLL_TRY(const auto exported, export_plan(plan, target));
    if (arguments.output.empty()) {
        say(exported.text);
    } else {
        std::error_code ignored;
        if (std::filesystem::equivalent(arguments.output, arguments.plan.plan, ignored)) {
            return bad_input("{} is the plan itself: name another file for the export", arguments.output);
        }
        PLIMSOLL_CHECK(write_file_atomic(arguments.output, exported.text));
    }
    for (const std::string& note : exported.notes) cli::note(note);
    return 0;
}

void add_target(CLI::App& parent, Work& work, const ExportTarget& target) {
    CLI::App* command =
        add_command(parent, std::string(target.name), fmt::format("{} ({})", target.what, target.file_name));
    const auto arguments = std::make_shared<ExportArguments>();
    arguments->plan.add_to(*command);
    command
        ->add_option("-o,--output", arguments->output,
                     "File to write (whole or not at all); standard output without it")
        ->type_name("FILE");
    command->callback(
        [arguments, &work, name = target.name] { work = [arguments, name] { return export_to(name, *arguments); }; });
}

}  // namespace

void add_export(CLI::App& app, Work& work) {
    CLI::App* command = add_command(
        app, "export",
        "Write the plan, or a run's weights, for another tool; what it cannot say is noted on standard error");
    command->require_subcommand(1);
    for (const ExportTarget& target : export_targets()) add_target(*command, work, target);
    add_export_hf(*command, work);
}

}  // namespace plimsoll::cli
