// SPDX-License-Identifier: Apache-2.0
// plimsoll lint: the problems of a DeepSpeed config, before it is launched.
#include <optional>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/numbers.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/interop/deepspeed/facts/deepspeed_schema.h"
#include "core/interop/deepspeed/facts/relaxed_json.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"

namespace plimsoll::cli {

namespace {

struct LintArguments {
    std::string file, plan;
    std::optional<std::int64_t> world, tp, pp, sp, gpus_per_node, parameters;
    std::optional<std::string> release;
    bool hugging_face = false, json = false, defaults = false, rules = false;
};

/// The launch from the plan where one is given; the command line takes precedence.
Result<DeepSpeedLaunch> launch_of(const LintArguments& arguments) {
    DeepSpeedLaunch launch;
    if (!arguments.plan.empty()) {
        PLIMSOLL_TRY(const auto loaded, plan_from_argument(arguments.plan));
        launch = deepspeed_launch(loaded.plan);
    }
    for (const auto& [name, value] : {std::pair{"--world", arguments.world},
                                      {"--gpus-per-node", arguments.gpus_per_node},
                                      {"--parameters", arguments.parameters}}) {
        if (value && *value < 1) return bad_input("{} is {}: 1 or more is needed", name, *value);
    }
    launch.world = arguments.world.value_or(launch.world);
    launch.tp = arguments.tp.value_or(launch.tp);
    launch.pp = arguments.pp.value_or(launch.pp);
    launch.sp = arguments.sp.value_or(launch.sp);
    launch.gpus_per_node = arguments.gpus_per_node.value_or(launch.gpus_per_node);
    launch.parameters = arguments.parameters.value_or(launch.parameters);
    launch.release = arguments.release.value_or(launch.release);
    launch.hugging_face = arguments.hugging_face;
    return launch;
}

std::string counted(std::size_t count, std::string_view one, std::string_view more) {
    return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string verdict(const DeepSpeedLint& lint, const DeepSpeedLaunch& launch, const std::string& file) {
    const std::string ranks = lint.data_parallel == 0
                                  ? ""
                                  : fmt::format(" on {}", counted(static_cast<std::size_t>(lint.data_parallel),
                                                                  "data-parallel rank", "data-parallel ranks"));
    const std::string batch = lint.batch ? fmt::format("; batch {} = {} x {} x {}", lint.batch->train,
                                                       lint.batch->micro, lint.batch->accumulation, lint.data_parallel)
                                         : "";
    return fmt::format("{}: DeepSpeed {} {} it{}, {}{}\n", file, launch.release,
                       lint.accepted() ? "accepts" : "refuses", ranks, counted(lint.troubles(), "trouble", "troubles"),
                       batch);
}

void show(const DeepSpeedLint& lint) {
    constexpr std::size_t indent = 13;
    const auto width = static_cast<std::size_t>(terminal_size().columns);
    for (const DeepSpeedFinding& each : lint.findings) {
        const std::string text =
            printable(each.key.empty() ? each.sentence : fmt::format("{}: {}", each.key, each.sentence));
        say(fmt::format("  {} {}\n", fitted(level_name(each.level), 10), wrapped(text, width - indent, indent)));
    }
}

void show_defaults(const std::vector<DeepSpeedDifference>& differences) {
    for (const DeepSpeedDifference& each : differences) {
        say(printable(each.known ? fmt::format("  {} = {} (left out: {}): {}", each.key, shown(each.value),
                                               shown(each.default_value), each.meaning)
                                 : fmt::format("  {} = {}: no key of DeepSpeed's", each.key, shown(each.value))) +
            "\n");
    }
}

Result<int> defaults(const LintArguments& arguments, const DeepSpeedLaunch& launch, const std::string& text) {
    PLIMSOLL_TRY(const auto& schema, deepspeed_schema());
    PLIMSOLL_TRY(const auto release, known_deepspeed_release(launch.release));
    PLIMSOLL_TRY(const auto file, parse_relaxed_json(text, arguments.file));
    const auto differences = differences_from_defaults(file.json, schema, release);
    if (!arguments.json) {
        say(fmt::format("{}: {} from what DeepSpeed {} takes without them\n", arguments.file,
                        counted(differences.size(), "value differs", "values differ"), launch.release));
        show_defaults(differences);
        return 0;
    }
    Json list = Json::array();
    for (const DeepSpeedDifference& each : differences) {
        list.push_back({{"key", each.key},
                        {"value", each.value},
                        {"default", each.default_value},
                        {"meaning", each.meaning},
                        {"known", each.known}});
    }
    say_json({{"release", launch.release}, {"differences", std::move(list)}});
    return 0;
}

int rules() {
    for (const DeepSpeedPitfall& each : deepspeed_pitfalls()) {
        say(each.rule.empty()
                ? fmt::format("{:>2}  {}: not visible in the file; {}\n", each.number, each.trouble, each.where)
                : fmt::format("{:>2}  {} [{}]\n", each.number, each.trouble, each.rule));
    }
    return 0;
}

Result<int> lint(const LintArguments& arguments) {
    if (arguments.rules) return rules();
    if (arguments.file.empty()) return bad_input("name the file to look at: plimsoll lint ds.json --world 8");
    PLIMSOLL_TRY(const auto launch, launch_of(arguments));
    PLIMSOLL_TRY(const auto text, read_file(arguments.file, 4 * MiB));
    if (arguments.defaults) return defaults(arguments, launch, text);
    PLIMSOLL_TRY(const auto found, lint_deepspeed(text, arguments.file, launch));
    if (arguments.json) {
        say_json(to_json(found, launch));
    } else {
        say(verdict(found, launch, arguments.file));
        show(found);
    }
    return found.clean() ? 0 : 1;
}

}  // namespace

void add_lint(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "lint", "Find what is wrong with a DeepSpeed config before it is launched");
    const auto arguments = std::make_shared<LintArguments>();
    command->add_option("FILE", arguments->file, "DeepSpeed's JSON config");
    command->add_option("--world", arguments->world, "Ranks of the run; without it the batch is checked in part")
        ->type_name("N");
    command->add_option("--tp", arguments->tp, "Tensor-parallel ranks")->type_name("N");
    command->add_option("--pp", arguments->pp, "Pipeline stages")->type_name("N");
    command->add_option("--sp", arguments->sp, "Sequence-parallel ranks")->type_name("N");
    command->add_option("--gpus-per-node", arguments->gpus_per_node, "For ZeRO++, pinned memory and elastic batches")
        ->type_name("N");
    command->add_option("--parameters", arguments->parameters, "Of the model (7e9), for buckets and pinned memory")
        ->type_name("N")
        ->transform(count());
    command->add_option("--plan", arguments->plan, "Takes all of these from a plan or preset")->type_name("PLAN");
    command->add_option("--release", arguments->release, "DeepSpeed's release, 0.9.0 to 0.19.8 (default: the newest)")
        ->type_name("R");
    command->add_flag("--hugging-face", arguments->hugging_face,
                      "The Trainer or Accelerate reads the file and fills \"auto\" in where it can");
    command->add_flag("--defaults", arguments->defaults,
                      "List what differs from the release's defaults, with meanings");
    command->add_flag("--rules", arguments->rules, "List what people trip over, and which of it is seen");
    command->add_flag("--json", arguments->json, "As JSON");
    command->footer(
        "Exit codes: 0 nothing but notes and deprecated forms, 1 troubles (refused, danger, ignored), 2 not readable or bad usage.");
    command->callback([arguments, &work] { work = [arguments] { return lint(*arguments); }; });
}

}  // namespace plimsoll::cli
