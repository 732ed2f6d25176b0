// SPDX-License-Identifier: Apache-2.0
// plimsoll: the studio's work in a terminal. Exit codes: 0 done, 1 failed, 2 bad usage or bad input.
#include <algorithm>
#include <exception>
#include <sstream>

#include "app/cli/bench/bench.h"
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/standard_input.h"
#include "app/cli/terminal/terminal.h"
#include "app/cli/validate/validate.h"
#include "core/base/nearest.h"
#include "core/base/output.h"
#include "core/base/version.h"

namespace {

using namespace plimsoll;

int report(const Error& error, const cli::StandardInput& input = {}) {
    (void)flush_output();
    cli::warn(input.named(error.message));
    return exit_code(error);
}

std::string one_line(std::string text) {
    text = text.substr(0, text.find('\n'));
    while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
    return text;
}

/// A sentence when the first word is no known command, or the second none of those of the first.
std::string unknown_command(const CLI::App& app, int argc, char** argv, int at = 1) {
    const std::string parent = at > 1 ? app.get_name() + " " : "";
    const bool missing = argc <= at;
    if ((missing && at == 1) || (!missing && argv[at][0] == '-')) return "";
    const std::string word = missing ? "" : argv[at];
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (command->get_name() == word) {
            const bool has_more = !command->get_subcommands([](const CLI::App*) { return true; }).empty();
            return has_more ? unknown_command(*command, argc, argv, at + 1) : "";
        }
        if (!command->get_group().empty()) names.push_back(command->get_name());
    }
    if (missing && app.get_require_subcommand_min() == 0) return "";  // the command says what else it takes
    if (missing) return fmt::format("plimsoll {}needs one of {}", parent, fmt::join(names, ", "));
    return fmt::format("there is no command \"{}{}\"{}; the commands are {}", parent, word, did_you_mean(word, names),
                       fmt::join(names, ", "));
}

/// The name of an option or an argument that was given an empty value ("" or an unset variable), or "".
std::string empty_value(const CLI::App& app) {
    for (const CLI::App* command : app.get_subcommands()) {
        for (const CLI::Option* option : command->get_options()) {
            const std::vector<std::string>& given = option->results();
            // An option with an optional value (--json) has one empty result when the value is missing.
            if (option->get_expected_min() == 0 || option->count() == 0) continue;
            if (std::find(given.begin(), given.end(), "") != given.end()) return option->get_name();
        }
        if (const std::string name = empty_value(*command); !name.empty()) return name;
    }
    return "";
}

}  // namespace

int main(int argc, char** argv) try {
    prepare_output();
    std::vector<std::string> arguments(argv, argv + argc);
    cli::StandardInput input;
    if (const auto read = input.replace_in(arguments); !read) return report(read.error());
    CLI::App app(
        "Plimsoll: what fits on which GPUs, and training with live plots.\n"
        "PLAN is a plan file, a plan preset (cpu-demo) or a model preset (llama-7b); `plimsoll presets` lists them.\n"
        "Where a file is read, - stands for standard input.\n",
        "plimsoll");
    app.set_version_flag("--version", std::string("plimsoll ") + version(), "Print the version and end");
    app.require_subcommand(1);
    app.get_formatter()->column_width(static_cast<std::size_t>(std::min(30, cli::terminal_size().columns * 2 / 5)));
    app.footer("Exit codes: 0 done, 1 failed, 2 bad usage or bad input (the reason is on standard error).");
    cli::Work work;
    cli::add_estimate(app, work);
    cli::add_dry_run(app, work);
    cli::add_pipeline(app, work);
    cli::add_plan(app, work);
    cli::add_train(app, work);
    cli::add_watch(app, work);
    cli::add_runs(app, work);
    cli::add_doctor(app, work);
    cli::add_records(app, work);
    cli::add_export(app, work);
    cli::add_import(app, work);
    cli::add_lint(app, work);
    cli::add_tokenize(app, work);
    cli::add_architecture(app, work);
    cli::add_validate(app, work);
    cli::add_bench(app, work);
    cli::add_lessons(app, work);
    cli::add_presets(app, work);
    cli::add_machine(app, work);
    cli::add_supervise(app, work);
    try {
        // CLI11 takes the arguments in reverse, without the name of the program.
        app.parse(std::vector<std::string>(arguments.rbegin(), std::prev(arguments.rend())));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            std::ostringstream text;
            app.exit(error, text, text);  // --help, --version
            cli::say(text.str());
            const auto written = finish_output();
            return written ? 0 : report(written.error());
        }
        if (const std::string unknown = unknown_command(app, argc, argv); !unknown.empty()) {
            return report(bad_input("{}", unknown).value());
        }
        return report(
            bad_input("{}; `plimsoll --help` and `plimsoll COMMAND --help` show the usage", one_line(error.what()))
                .value());
    }
    if (const std::string name = empty_value(app); !name.empty()) {
        return report(bad_input("{} is empty: give it a value, or leave it out", name).value());
    }
    const auto code = work();
    if (!code) return report(code.error(), input);
    const auto written = finish_output();
    return written ? *code : report(written.error());
} catch (const std::bad_alloc&) {
    plimsoll::cli::warn("there is not enough memory for this input; close other programs, or take a smaller input");
    return 1;
} catch (const std::exception& error) {
    plimsoll::cli::warn(fmt::format("an unexpected error: {}; please report it", error.what()));
    return 1;
}
