// SPDX-License-Identifier: GPL-3.0-or-later
// The content of a plot: lines over recorded series, and the marks that explain them.
#pragma once

#include <functional>
#include <optional>
#include <QString>
#include <vector>

#include "core/telemetry/pyramid.h"
#include "ui/plots/value_axis.h"

namespace plimsoll::ui {

struct PlotLine {
    QString name;
    /// Called at each repaint, so that a run may be closed under the plot; may return null.
    std::function<const Pyramid*()> data;
    int category = 0;      ///< colour: index into Theme::category
    bool faint = false;    ///< drawn faintly behind another line of the same colour
    bool stepped = false;  ///< holds its value up to the next point
    bool sparse = false;   ///< recorded now and then: between its points it has no value
    bool left = false;     ///< an abandoned branch: it has values at its own steps only
};

enum class Tone { Muted, Warn, Bad };

/// A vertical dotted line with a label: something happened at this step.
struct PlotFlag {
    double step = 0;
    QString label;
    Tone tone = Tone::Muted;
};

/// A horizontal dashed line across the plot: a limit or a prediction. low < high makes it a band.
struct PlotLevel {
    QString name;
    double low = 0;
    double high = 0;
    int category = 0;
};

/// The planned course of the first line, dashed from the latest step on.
using PlannedCurve = std::function<double(double step)>;

struct PlotContent {
    std::vector<PlotLine> lines;
    std::vector<PlotFlag> flags;  ///< steps must not fall
    std::vector<PlotLevel> levels;
    PlannedCurve planned;
    ValueKind kind = ValueKind::Plain;
    bool log_scale = false;
    bool whole_range = false;  ///< while following, shows the whole planned run and not only the recorded part
    QString empty_text;
};

/// The point of `data` that is shown for `step`: the last one at or before it, or the first of all.
std::optional<std::size_t> pointAt(const Pyramid& data, double step);
/// The recorded step nearest to `step`.
std::optional<double> nearestStep(const Pyramid& data, double step);

}  // namespace plimsoll::ui
