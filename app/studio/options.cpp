// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/studio/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "core/base/output.h"
#include "core/base/version.h"
#include "ui/window/navigation.h"

namespace plimsoll::studio {

namespace {

std::vector<std::string> page_names() {
    std::vector<std::string> names;
    for (const QString& name : ui::pageNames()) names.push_back(name.toStdString());
    return names;
}

}  // namespace

Parsed parse_options(int argc, char** argv) {
    Options options;
    CLI::App app{"Plimsoll studio: plan, train and watch large models"};
    app.set_version_flag("--version", std::string("plimsoll-studio ") + version());
    app.add_option("PLAN", options.plan, "A plan file, or a preset such as cpu-demo or llama-7b");
    app.add_option("--theme", options.theme, "light, dark or system")
        ->check(CLI::IsMember({"light", "dark", "system"}));
    app.add_option("--page", options.page, "Page shown first")->check(CLI::IsMember(page_names(), CLI::ignore_case));
    app.add_option("--run", options.run, "A run to watch: its folder, or its name in the store");
    app.add_option("--screenshot-dir", options.screenshot_dir, "Write a picture of every page there and end");
    app.add_option("--width", options.width, "Width of the window on those pictures")->check(CLI::Range(320, 7680));
    app.add_option("--height", options.height, "Height of the window on those pictures")->check(CLI::Range(240, 4320));
    app.add_flag("--headless", options.headless, "No window: train the plan here and draw the plots to PNG at the end");
    const auto count = CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000});
    app.add_option("--steps", options.steps, "Headless: optimizer steps")->check(count);
    app.add_option("--ranks", options.ranks, "Headless: worker processes on this machine")->check(count);
    app.add_option("--data", options.data, "Headless: a text file or a folder of them");
    app.add_option("--png", options.png_dir, "Headless: folder for the plots (default: plots in the run's folder)");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        if (error.get_exit_code() != 0) {
            print_error(fmt::format("plimsoll-studio: {}; `plimsoll-studio --help` shows the usage\n", error.what()));
            return {std::nullopt, 2};
        }
        app.exit(error, out, out);  // --help, --version
        print(out.str());
        const Result<void> written = finish_output();
        if (!written) print_error(fmt::format("plimsoll-studio: {}\n", written.error().message));
        return {std::nullopt, written ? 0 : exit_code(written.error())};
    }
    return {options, 0};
}

}  // namespace plimsoll::studio
