// SPDX-License-Identifier: Apache-2.0
// A line plot of Braille characters: 2 x 4 dots a cell, each column of dots drawn from its minimum to its maximum.
#pragma once

#include <string>
#include <vector>

#include "core/telemetry/pyramid.h"

namespace plimsoll::cli {

struct PlotLine {
    const Pyramid* points = nullptr;
    int colour = 0;  ///< a colour of the 256-colour palette
};

struct Plot {
    std::string title;
    std::string unit;
    std::vector<PlotLine> lines;
    double from = 0, to = 1;  ///< steps [from, to)
    int columns = 60, rows = 6;
};

/// The plot's lines of text: title with the latest value, then rows with the value axis. A column that holds NaN or
/// infinities is marked with "!" in the top row.
std::vector<std::string> draw(const Plot& plot);

/// A value in about 8 characters, in its unit: "2.31", "1.5 GiB", "84.1 k".
std::string short_value(double value, const std::string& unit);

}  // namespace plimsoll::cli
