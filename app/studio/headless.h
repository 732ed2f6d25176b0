// SPDX-License-Identifier: GPL-3.0-or-later
// The studio's job without a window: trains, reports progress, draws the plots.
#pragma once

#include "app/studio/options.h"

namespace plimsoll::studio {

/// Trains the plan through the window's supervisor, with a line of progress a second, and writes the plots as PNG.
/// Gives the program's exit code. Needs a QApplication (platform "offscreen").
int run_headless(const Options& options);

}  // namespace plimsoll::studio
