// SPDX-License-Identifier: Apache-2.0
// The common shape of subcommands: options that CLI11 reads, and one function that does the work.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/version.h"

namespace plimsoll::cli {

/// The work of the chosen subcommand: gives the exit code, or the error that ends the program.
using Work = std::function<Result<int>()>;

/// Makes a subcommand with --help and --version.
inline CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description) {
    CLI::App* command = parent.add_subcommand(name, description);
    command->set_version_flag("--version", std::string("plimsoll ") + version(), "Print the version and end");
    return command;
}

void add_architecture(CLI::App& app, Work& work);
void add_estimate(CLI::App& app, Work& work);
void add_dry_run(CLI::App& app, Work& work);
void add_pipeline(CLI::App& app, Work& work);
void add_plan(CLI::App& app, Work& work);
void add_export(CLI::App& app, Work& work);
void add_export_hf(CLI::App& parent, Work& work);
void add_lessons(CLI::App& app, Work& work);
void add_import(CLI::App& app, Work& work);
void add_lint(CLI::App& app, Work& work);
void add_records(CLI::App& app, Work& work);
void add_train(CLI::App& app, Work& work);
void add_watch(CLI::App& app, Work& work);
void add_doctor(CLI::App& app, Work& work);
void add_runs(CLI::App& app, Work& work);     ///< runs and stop
void add_presets(CLI::App& app, Work& work);  ///< presets and schema
void add_machine(CLI::App& app, Work& work);
void add_supervise(CLI::App& app, Work& work);
void add_tokenize(CLI::App& app, Work& work);

}  // namespace plimsoll::cli
