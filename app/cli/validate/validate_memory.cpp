// SPDX-License-Identifier: Apache-2.0
// plimsoll validate memory: estimates beside measured peaks.
#include "app/cli/validate/validate_memory.h"

#include <cmath>

#include "app/cli/terminal/terminal.h"
#include "app/cli/validate/percent.h"
#include "app/cli/validate/validate_engine_memory.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/validation/check_peaks.h"

namespace plimsoll::cli {
namespace {

struct ValidateMemoryArguments {
    std::string file;
    std::string kind = "measured";
    std::string confidence;
    EngineMemoryArguments engine;
    bool json = false;
    bool only_misses = false;
    bool quantiles = false;
};

Json peaks_json(const std::vector<PeakCheck>& checks, const PeakSummary& summary) {
    Json rows = Json::array();
    for (const auto& check : checks) {
        Json row{{"name", check.row.name},
                 {"framework", name_of(check.row.framework)},
                 {"confidence", check.row.confidence},
                 {"measured", check.row.truth}};
        if (check.predicted) {
            row["predicted"] = *check.predicted;
            row["error"] = check.error;
            row["low"] = check.interval.low;
            row["high"] = check.interval.high;
        } else {
            row["predicted"] = nullptr;
        }
        if (!check.cause.empty()) row["cause"] = check.cause;
        rows.push_back(std::move(row));
    }
    // Without an estimate there is no error.
    const auto known = [&](double value) { return summary.estimated > 0 ? Json(value) : Json(nullptr); };
    return {{"rows", rows},
            {"summary",
             {{"rows", summary.rows},
              {"estimated", summary.estimated},
              {"mean_absolute_error", known(summary.mean_error)},
              {"median_absolute_error", known(summary.median_error)},
              {"within_10_percent_of_all_rows", summary.within_10},
              {"inside_interval", known(summary.inside)},
              {"fits_but_exceeds_card", summary.over}}}};
}

std::string peaks_text(const std::vector<PeakCheck>& checks, const PeakSummary& summary, bool only_misses) {
    auto text = fmt::format("{:>11} {:>11} {:>8}  {:<24} {}\n", "measured", "predicted", "error", "95 of 100", "row");
    for (const auto& check : checks) {
        if (only_misses && check.cause.empty()) continue;
        if (check.predicted)
            text += fmt::format(
                "{:>11} {:>11} {:>+7.1f}%  {:<24} {}", format_bytes(check.row.truth), format_bytes(*check.predicted),
                100 * check.error,
                fmt::format("{} to {}", format_bytes(check.interval.low), format_bytes(check.interval.high)),
                check.row.name);
        else
            text += fmt::format("{:>11} {:>11} {:>8}  {:<24} {}", format_bytes(check.row.truth), "none", "", "",
                                check.row.name);
        text += check.cause.empty() ? "\n" : fmt::format("\n{:>14}{}\n", "", check.cause);
    }
    if (summary.estimated == 0)
        return text +
               fmt::format("none of the {} rows could be estimated; the reason stands below each\n", summary.rows);
    text += fmt::format(
        "{} of {} rows estimated: mean absolute error {}, median {}; {} of all rows within 10 %; {} of the measured "
        "peaks lie in the interval; {} exceed a card that they were said to fit\n",
        summary.estimated, summary.rows, percent(summary.mean_error), percent(summary.median_error),
        percent(summary.within_10), percent(summary.inside), summary.over);
    return text;
}

std::string quantiles_of(const std::vector<PeakCheck>& checks) {
    std::string text = "measured / predicted at 2.5, 5, 10, 25, 50, 75, 90, 95 and 97.5 %\n";
    for (const auto framework : frameworks) {
        const auto quantiles = error_quantiles(checks, framework);
        if (quantiles.samples > 0)
            text += fmt::format("{:<12} {:.3f} of {} rows\n", name_of(framework), fmt::join(quantiles.ratios, ", "),
                                quantiles.samples);
    }
    return text;
}

Result<int> validate_memory(ValidateMemoryArguments& arguments) {
    if (arguments.engine.engine) {
        arguments.engine.json = arguments.json;
        return validate_engine_memory(arguments.engine);
    }
    if (arguments.file.empty()) return bad_input("give a CSV of measured peaks, or --engine to measure Plimsoll's own");
    PLIMSOLL_TRY(const auto text, read_file(arguments.file));
    const auto table = read_csv(text);
    if (!table) return bad_input("{}: {}", arguments.file, table.error().message);
    auto rows = read_peak_rows(*table);
    if (!rows) return bad_input("{}: {}", arguments.file, rows.error().message);
    std::erase_if(*rows, [&](const PeakRow& row) {
        return row.kind != arguments.kind ||
               (!arguments.confidence.empty() && !row.confidence.starts_with(arguments.confidence));
    });
    if (rows->empty())
        return bad_input(
            "{}: no row is of kind \"{}\"{}; choose others with --kind and --confidence", arguments.file,
            arguments.kind,
            arguments.confidence.empty() ? "" : fmt::format(" and confidence \"{}\"", arguments.confidence));
    const auto checks = check_peaks(*rows);
    const auto summary = summarize(checks);
    if (arguments.quantiles)
        say(quantiles_of(checks));
    else if (arguments.json)
        say_json(peaks_json(checks, summary));
    else
        say(peaks_text(checks, summary, arguments.only_misses));
    return 0;
}

}  // namespace

void add_validate_memory(CLI::App& validate, Work& work) {
    CLI::App* memory = add_command(
        validate, "memory",
        "Estimates beside measured peaks of a CSV: Megatron-LM's flags and peak_alloc_bytes, or model, layers, hidden, "
        "heads, ffn, vocab, seq, micro_batch, dp, tp, pp, …, peak, unit, metric, framework or source");
    const auto arguments = std::make_shared<ValidateMemoryArguments>();
    memory->add_option("FILE", arguments->file, "The CSV");
    memory
        ->add_flag(
            "--engine", arguments->engine.engine,
            "In place of a file: train 136 tiny models on two CPU ranks each (GPT-2, LLaMA, experts; fp32, bf16; "
            "recompute none, selective, full, mlp; ZeRO 0 to 3; all weights, adapters) and compare closed form and dry run")
        ->excludes("FILE");
    memory->add_option("--only", arguments->engine.only, "With --engine: combinations whose name has this in it")
        ->type_name("TEXT")
        ->needs("--engine");
    memory->add_option("--every", arguments->engine.every, "With --engine: one combination in so many")
        ->needs("--engine")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    memory->add_flag("--json", arguments->json, "JSON: rows with measured, predicted, error, interval; summary");
    memory->add_option("--kind", arguments->kind, "Rows whose column kind is this")->capture_default_str();
    memory->add_option("--confidence", arguments->confidence,
                       "Rows whose column confidence begins so: high, medium, low");
    memory->add_flag("--misses", arguments->only_misses, "Only rows that are off by more than 5 % or not estimated");
    memory->add_flag("--quantiles", arguments->quantiles, "Only the quantiles that the intervals are made of");
    memory->callback([arguments, &work] { work = [arguments] { return validate_memory(*arguments); }; });
}

}  // namespace plimsoll::cli
