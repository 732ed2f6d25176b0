// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of plimsoll-studio.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll::studio {

struct Options {
    std::string plan;            ///< a plan file or a preset; "": the draft of the last session, or cpu-demo
    std::string theme;           ///< light, dark, system; "": the last choice
    std::string page;            ///< the page shown first
    std::string run;             ///< run folder to watch
    std::string screenshot_dir;  ///< writes every page as PNG there and ends
    int width = 1440;            ///< width of the window in these pictures
    int height = 900;
    bool headless = false;
    std::int64_t steps = 0;  ///< 0: as planned
    std::int64_t ranks = 0;  ///< 0: as planned
    std::string data;        ///< "": as planned
    std::string png_dir;     ///< plots of a headless run; "": in its folder
};

struct Parsed {
    std::optional<Options> options;
    int exit_code = 0;  ///< where there are no options: --help or --version was shown, or the usage was wrong
};
Parsed parse_options(int argc, char** argv);

}  // namespace plimsoll::studio
