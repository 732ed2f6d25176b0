// SPDX-License-Identifier: Apache-2.0
// plimsoll import: another tool's file as a plan.
#include "app/cli/plan_arguments.h"
#include "app/cli/terminal.h"
#include "core/interop/deepspeed_import.h"
#include "core/plan/hf_config.h"
#include "core/plan/plan_io.h"

namespace plimsoll::cli {

namespace {

struct Arguments {
    std::string config;
    std::string output;
    PlanArguments base;
};

Result<int> write_plan(const Arguments& arguments, const Plan& plan) {
    if (arguments.output.empty()) {
        say(to_json(plan).dump(2) + "\n");
        return 0;
    }
    std::error_code ignored;
    if (std::filesystem::equivalent(arguments.output, arguments.config, ignored)) {
        return bad_input("{} is the config itself: name another file for the plan", arguments.output);
    }
    if (auto saved = save_plan(arguments.output, plan); !saved) return tl::unexpected(saved.error());
    return 0;
}

Result<int> import_hf(const Arguments& arguments) {
    const auto model = import_hf_config(arguments.config);
    if (!model) return tl::unexpected(model.error());
    const Plan plan = starting_plan(*model);
    if (auto possible = require_possible(plan); !possible) return tl::unexpected(possible.error());
    return write_plan(arguments, plan);
}

Result<int> import_from_deepspeed(Arguments& arguments) {
    const auto file = read_json(arguments.config, 4 * MiB);
    if (!file) return tl::unexpected(file.error());
    const auto base = arguments.base.load();
    if (!base) return tl::unexpected(base.error());
    const auto imported = import_deepspeed(*file, *base, arguments.config);
    if (!imported) return tl::unexpected(imported.error());
    if (auto possible = require_possible(imported->plan); !possible) return tl::unexpected(possible.error());
    for (const std::string& note : imported->notes) fmt::print(stderr, "note: {}\n", printable(note));
    return write_plan(arguments, imported->plan);
}

void add_output(CLI::App& command, Arguments& arguments) {
    command.add_option("-o,--output", arguments.output, "Plan file to write; standard output without it")
        ->type_name("PLAN");
}

}  // namespace

void add_import(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "import", "Make a plan from another tool's file");
    command->require_subcommand(1);
    CLI::App* hf =
        add_command(*command, "hf",
                    "A Hugging Face config.json (gpt2, llama, mistral, mixtral, qwen2), on hardware that it fits on");
    const auto arguments = std::make_shared<Arguments>();
    hf->add_option("CONFIG", arguments->config, "The config.json")->required();
    add_output(*hf, *arguments);
    hf->callback([arguments, &work] { work = [arguments] { return import_hf(*arguments); }; });

    CLI::App* deepspeed =
        add_command(*command, "deepspeed",
                    "A DeepSpeed config, on top of a plan that gives the model and the hardware; keys "
                    "that a plan has not are kept");
    const auto from = std::make_shared<Arguments>();
    deepspeed->add_option("CONFIG", from->config, "The DeepSpeed JSON")->required();
    from->base.add_to(*deepspeed);
    add_output(*deepspeed, *from);
    deepspeed->callback([from, &work] { work = [from] { return import_from_deepspeed(*from); }; });
}

}  // namespace plimsoll::cli
