// SPDX-License-Identifier: Apache-2.0
// plimsoll records: what a run recorded, for other tools.
#include <algorithm>
#include <optional>
#include <system_error>

#include "app/cli/command.h"
#include "app/cli/records_server.h"
#include "app/cli/terminal.h"
#include "core/base/file_io.h"
#include "core/base/nearest.h"
#include "core/interop/records_export.h"
#include "core/run/run_telemetry.h"

namespace plimsoll::cli {

namespace {

struct Arguments {
    std::string run, to = "csv", output;
    std::optional<int> listen;
};

Result<RecordFormat> format_of(const std::string& name) {
    const auto found = std::find(record_format_names.begin(), record_format_names.end(), name);
    if (found != record_format_names.end()) return static_cast<RecordFormat>(found - record_format_names.begin());
    const std::vector<std::string> names(record_format_names.begin(), record_format_names.end());
    return bad_input("--to is \"{}\"{}; there are {}", name, did_you_mean(name, names), fmt::join(names, ", "));
}

/// TensorBoard looks for files of that name in a folder.
std::filesystem::path event_file(const std::filesystem::path& folder, const std::string& run) {
    return folder / fmt::format("events.out.tfevents.0.{}", run);
}

Result<int> write(const SeriesStore& store, RecordFormat format, const std::string& run, const Arguments& arguments) {
    if (arguments.output.empty()) {
        if (format == RecordFormat::TensorBoard) {
            return bad_input(
                "--to tensorboard needs a folder: give one with -o, and open it with tensorboard --logdir");
        }
        auto written = export_records(store, format, run, [](std::string_view bytes) -> Result<void> {
            say(bytes);
            return {};
        });
        if (!written) return tl::unexpected(written.error());
        return 0;
    }
    std::filesystem::path path = arguments.output;
    if (format == RecordFormat::TensorBoard) {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        if (error) return failed("cannot make the folder {}: {}", path.string(), error.message());
        path = event_file(path, run);
    }
    auto file = FileWriter::create(path);
    if (!file) return tl::unexpected(file.error());
    auto written = export_records(store, format, run,
                                  [&](std::string_view bytes) { return file->write(bytes.data(), bytes.size()); });
    if (written) written = file->finish();
    if (!written) return tl::unexpected(written.error());
    say(fmt::format("{}\n", path.string()));
    return 0;
}

Result<int> records(const Arguments& arguments) {
    const auto format = format_of(arguments.to);
    if (!format) return tl::unexpected(format.error());
    const auto run = find_run(arguments.run);
    if (!run) return tl::unexpected(run.error());
    if (arguments.listen) {
        if (*arguments.listen < 0 || *arguments.listen > 65535) {
            return bad_input("--listen is {}: a port from 1 to 65535 is needed, or 0 for a free one",
                             *arguments.listen);
        }
        auto served = serve_records(*run, *arguments.listen);
        return served ? Result<int>(0) : tl::unexpected(served.error());
    }
    RunTelemetry telemetry(*run);
    do {
        telemetry.poll();
    } while (!telemetry.at_end());
    for (const std::string& problem : telemetry.problems()) warn(problem);
    if (telemetry.series().series().empty() && telemetry.series().events().empty()) {
        return bad_input("{} has recorded nothing: let it train for a step", run->name());
    }
    return write(telemetry.series(), *format, run->name(), arguments);
}

}  // namespace

void add_records(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "records", "Write what a run recorded for another tool");
    const auto arguments = std::make_shared<Arguments>();
    command->add_option("RUN", arguments->run, "A run's name, its folder, or latest")->required();
    command
        ->add_option("--to", arguments->to,
                     "csv, jsonl, tensorboard (a folder), or prometheus (last values, for a textfile collector)")
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
