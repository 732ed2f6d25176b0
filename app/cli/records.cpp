// SPDX-License-Identifier: Apache-2.0
// plimsoll records: a run's records, for other tools.
#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "app/cli/records_server.h"
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file_io.h"
#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/interop/records/records_export.h"
#include "core/interop/records/records_steps.h"
#include "core/interop/records/wandb.h"
#include "core/plan/plan_io.h"
#include "core/run/run_store.h"
#include "core/run/run_telemetry.h"

namespace plimsoll::cli {

namespace {

struct RecordsArguments {
    std::string run, to = "csv", output;
    std::optional<int> listen;
};

Result<RecordFormat> format_of(const std::string& name) {
    const auto found = std::find(record_format_names.begin(), record_format_names.end(), name);
    if (found != record_format_names.end()) return static_cast<RecordFormat>(found - record_format_names.begin());
    const std::vector<std::string> names(record_format_names.begin(), record_format_names.end());
    return bad_input("--to is \"{}\"{}; there are {}", name, did_you_mean(name, names), fmt::join(names, ", "));
}

/// A file name that TensorBoard finds in a folder.
std::filesystem::path event_file(const std::filesystem::path& folder, const std::string& run) {
    return folder / fmt::format("events.out.tfevents.0.{}", run);
}

/// Why --to needs -o; nothing where standard output will do.
std::optional<std::string> needs_output(RecordFormat format) {
    if (format == RecordFormat::TensorBoard)
        return "--to tensorboard needs a folder: give one with -o, and open it with tensorboard --logdir";
    if (format == RecordFormat::Wandb)
        return "--to wandb needs a folder: give one with -o, and send it with wandb sync";
    if (format == RecordFormat::Parquet) return "--to parquet needs a file: give one with -o";
    return std::nullopt;
}

/// The run with its plan as W&B's config.
WandbRun wandb_run(const SeriesStore& store, const RunFolder& run) {
    WandbRun offline;
    offline.name = run.name();
    offline.started = first_time(store);
    if (auto plan = run.plan()) {
        // Fields that the plan leaves to a preset are included, because runs are compared by them.
        const std::string preset = std::exchange(plan->model.preset, "");
        offline.config = to_json(*plan);
        if (!preset.empty()) offline.config["model"]["preset"] = preset;
    }
    return offline;
}

Result<int> write(const SeriesStore& store, RecordFormat format, const RunFolder& run,
                  const RecordsArguments& arguments) {
    if (arguments.output.empty()) {
        if (const auto missing = needs_output(format)) return bad_input("{}", *missing);
        PLIMSOLL_CHECK(export_records(store, format, run.name(), [](std::string_view bytes) -> Result<void> {
            say(bytes);
            return {};
        }));
        return 0;
    }
    std::filesystem::path path = arguments.output;
    const WandbRun offline = wandb_run(store, run);
    if (format == RecordFormat::TensorBoard) path = event_file(path, run.name());
    if (format == RecordFormat::Wandb) path /= wandb_file(offline);
    if (format == RecordFormat::TensorBoard || format == RecordFormat::Wandb) {
        std::error_code error;
        std::filesystem::create_directories(path.parent_path(), error);
        if (error) return failed("cannot make the folder {}: {}", path.parent_path().string(), error.message());
    }
    PLIMSOLL_TRY(auto file, FileWriter::create(path));
    const auto sink = [&](std::string_view bytes) { return file.write(bytes.data(), bytes.size()); };
    auto written = format == RecordFormat::Wandb ? export_wandb(store, offline, sink)
                                                 : export_records(store, format, run.name(), sink);
    if (written) written = file.finish();
    if (!written) return tl::unexpected(written.error());
    say(fmt::format("{}\n", path.string()));
    return 0;
}

Result<int> records(const RecordsArguments& arguments) {
    PLIMSOLL_TRY(const auto format, format_of(arguments.to));
    PLIMSOLL_TRY(const auto run, find_run(arguments.run));
    if (arguments.listen) {
        if (*arguments.listen < 0 || *arguments.listen > 65535) {
            return bad_input("--listen is {}: a port from 1 to 65535 is needed, or 0 for a free one",
                             *arguments.listen);
        }
        auto served = serve_records(run, *arguments.listen);
        return served ? Result<int>(0) : tl::unexpected(served.error());
    }
    RunTelemetry telemetry(run);
    do {
        telemetry.poll();
    } while (!telemetry.at_end());
    for (const std::string& problem : telemetry.problems()) warn(problem);
    if (telemetry.series().series().empty() && telemetry.series().events().empty()) {
        return bad_input("{} has recorded nothing: let it train for a step", run.name());
    }
    return write(telemetry.series(), format, run, arguments);
}

}  // namespace

void add_records(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "records", "Write what a run recorded for another tool");
    const auto arguments = std::make_shared<RecordsArguments>();
    command->add_option("RUN", arguments->run, "A run's name, its folder, or latest")->required();
    command
        ->add_option(
            "--to", arguments->to,
            "csv, jsonl, parquet (a file), tensorboard (a folder; inside of DIR for aim convert tensorboard "
            "--logdir DIR), wandb (a folder, an offline run for wandb sync), or prometheus (last values, for a "
            "textfile collector)")
        ->type_name("FORMAT")
        ->capture_default_str();
    command->add_option("-o,--output", arguments->output, "File or folder to write; standard output without it")
        ->type_name("PATH");
    command
        ->add_option("--listen", arguments->listen,
                     "Answer http://127.0.0.1:PORT/metrics with the last values, for Prometheus, until Ctrl-C")
        ->type_name("PORT");
    command->callback([arguments, &work] { work = [arguments] { return records(*arguments); }; });
}

}  // namespace plimsoll::cli
