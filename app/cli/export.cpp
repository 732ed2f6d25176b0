// SPDX-License-Identifier: Apache-2.0
// plimsoll export: a plan, a checkpoint or records in another tool's format.
#include <fmt/ranges.h>

#include <optional>
#include <system_error>

#include "app/cli/terminal/hardware_arguments.h"
#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file.h"
#include "core/interop/exports/export_target.h"

namespace plimsoll::cli {

namespace {

struct ExportArguments {
    PlanArguments plan;
    std::string gpu, program, output;
    std::optional<std::int64_t> gpus;
};

Result<int> export_to(std::string_view target, ExportArguments& arguments) {
    PLIMSOLL_TRY(const auto plan, arguments.plan.load([&](Plan read) {
        return on_hardware(std::move(read), arguments.gpu, arguments.gpus, arguments.plan.settings);
    }));
    PLIMSOLL_TRY(const auto exported, export_plan(plan, target, arguments.program));
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
    command->add_option("--gpu", arguments->gpu, "GPU of the catalogue (\"A100 SXM4 80GB\", h100), or cpu")
        ->type_name("NAME");
    command->add_option("--gpus", arguments->gpus, "GPUs in all; dp follows, the global batch stays where it divides")
        ->type_name("N");
    if (starts_program(target.name)) {
        command
            ->add_option("--program", arguments->program,
                         fmt::format("Exported tool that it starts: {}; without it your own train.py",
                                     fmt::join(export_programs(), ", ")))
            ->type_name("TOOL");
    }
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
        "Write the plan, or a run's weights, for another tool; settings that its format cannot hold are listed on standard "
        "error, with where to set them, and so is a plan that does not fit under the tool");
    command->require_subcommand(1);
    for (const ExportTarget& target : export_targets()) add_target(*command, work, target);
    add_export_hf(*command, work);
}

}  // namespace plimsoll::cli
