// SPDX-License-Identifier: Apache-2.0
// plimsoll validate step-time: predicted step times beside published ones.
#include "app/cli/validate/validate_step_time.h"

#include "app/cli/terminal/numbers.h"
#include "app/cli/terminal/terminal.h"
#include "app/cli/validate/percent.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/validation/check_steps.h"

namespace plimsoll::cli {
namespace {

struct ValidateStepTimeArguments {
    std::string file;
    Unsaid unsaid;
    std::string efficiency;
    bool json = false;
};

Json steps_json(const std::vector<StepCheck>& checks, const StepSummary& summary) {
    Json rows = Json::array();
    for (const auto& check : checks) {
        Json row{{"name", check.row.name},
                 {"published_seconds", check.row.truth},
                 {"predicted_seconds", check.report.step},
                 {"error", check.error},
                 {"mfu", check.report.mfu},
                 {"hfu", check.report.hfu}};
        row["seconds"] = to_json(check.report)["seconds"];
        if (!check.row.source.empty()) row["source"] = check.row.source;
        rows.push_back(std::move(row));
    }
    return {{"rows", rows},
            {"summary",
             {{"rows", summary.rows},
              {"mean_absolute_error", summary.mean_error},
              {"median_absolute_error", summary.median_error},
              {"bias", summary.bias},
              {"groups", summary.groups},
              {"mean_regret", summary.mean_regret},
              {"worst_regret", summary.worst_regret}}}};
}

std::string steps_text(const std::vector<StepCheck>& checks, const StepSummary& summary) {
    auto text =
        fmt::format("{:>11} {:>11} {:>8} {:>6} {:>6}  {}\n", "published", "predicted", "error", "MFU", "HFU", "row");
    for (const auto& check : checks)
        text += fmt::format("{:>11} {:>11} {:>+7.1f}% {:>5.1f}% {:>5.1f}%  {}\n", format_seconds(check.row.truth),
                            format_seconds(check.report.step), 100 * check.error, 100 * check.report.mfu,
                            100 * check.report.hfu, check.row.name);
    text += fmt::format("{} rows: mean absolute error {}, median {}, bias {:+.1f} %\n", summary.rows,
                        percent(summary.mean_error), percent(summary.median_error), 100 * summary.bias);
    if (summary.groups > 0)
        text += fmt::format(
            "{} groups of the same model, GPUs and global batch: the layout predicted fastest costs {} over the truly "
            "fastest on average, {} at most\n",
            summary.groups, percent(summary.mean_regret), percent(summary.worst_regret));
    return text;
}

Result<int> validate_step_time(const ValidateStepTimeArguments& arguments) {
    PLIMSOLL_TRY(const auto text, arguments.file.empty() ? published_step_times() : read_file(arguments.file));
    const auto name = arguments.file.empty() ? std::string("resources/published-step-times.csv") : arguments.file;
    const auto table = read_csv(text);
    if (!table) return bad_input("{}: {}", name, table.error().message);
    const auto rows = read_step_rows(*table, arguments.unsaid);
    if (!rows) return bad_input("{}: {}", name, rows.error().message);
    Efficiency efficiency;
    if (!arguments.efficiency.empty()) {
        PLIMSOLL_TRY(const auto json, read_json(arguments.efficiency));
        PLIMSOLL_CHECK(read_efficiency(json, arguments.efficiency, efficiency));
    }
    const auto checks = check_steps(*rows, arguments.efficiency.empty() ? nullptr : &efficiency);
    if (!checks) return bad_input("{}: {}", name, checks.error().message);
    const auto summary = summarize(*checks);
    if (arguments.json)
        say_json(steps_json(*checks, summary));
    else
        say(steps_text(*checks, summary));
    return 0;
}

}  // namespace

void add_validate_step_time(CLI::App& validate, Work& work) {
    CLI::App* command = add_command(
        validate, "step-time",
        "Predicted step times beside those of a CSV: vTrain's columns (# GPUs, global batch, micro batch, hidden size, "
        "attention heads, # layers, sequence length, tensor, data and pipeline parallelism, iteration time (ms)), or "
        "name, preset, settings, metric, value as in the bundled table of Megatron-LM, DeepSpeed, Llama 3 and torchtitan");
    const auto arguments = std::make_shared<ValidateStepTimeArguments>();
    command->add_option("FILE", arguments->file, "The CSV; without it the bundled table");
    command->add_option("--gpu", arguments->unsaid.gpu, "GPU of rows that name none")->capture_default_str();
    command->add_option("--internode-gbs", arguments->unsaid.internode_gbs, "GB/s a GPU between nodes, likewise")
        ->capture_default_str()
        ->check(above_zero());
    command->add_option("--efficiency", arguments->efficiency,
                        "JSON of efficiencies in place of resources/efficiency.json's (see core/step_time/hardware.h)");
    command->add_flag("--json", arguments->json, "JSON: rows with published, predicted, error and parts; summary");
    command->callback([arguments, &work] { work = [arguments] { return validate_step_time(*arguments); }; });
}

}  // namespace plimsoll::cli
