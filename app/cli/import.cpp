// SPDX-License-Identifier: Apache-2.0
// plimsoll import: another tool's file as a plan.
#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "core/plan/hf_config.h"
#include "core/plan/plan_io.h"

namespace plimsoll::cli {

namespace {

struct Arguments {
    std::string config;
    std::string output;
};

Result<int> import_hf(const Arguments& arguments) {
    const auto model = import_hf_config(arguments.config);
    if (!model) return tl::unexpected(model.error());
    const Plan plan = starting_plan(*model);
    if (auto possible = require_possible(plan); !possible) return tl::unexpected(possible.error());
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

}  // namespace

void add_import(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "import", "Make a plan from another tool's file");
    command->require_subcommand(1);
    CLI::App* hf =
        add_command(*command, "hf",
                    "A Hugging Face config.json (gpt2, llama, mistral, mixtral, qwen2), on hardware that it fits on");
    const auto arguments = std::make_shared<Arguments>();
    hf->add_option("CONFIG", arguments->config, "The config.json")->required();
    hf->add_option("-o,--output", arguments->output, "Plan file to write; standard output without it")
        ->type_name("PLAN");
    hf->callback([arguments, &work] { work = [arguments] { return import_hf(*arguments); }; });
}

}  // namespace plimsoll::cli
