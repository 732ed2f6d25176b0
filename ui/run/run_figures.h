// SPDX-License-Identifier: GPL-3.0-or-later
// The figures that the Watch page shows beside and between its plots.
#pragma once

#include <optional>
#include <QString>
#include <utility>
#include <vector>

#include "ui/run/run_model.h"

namespace plimsoll::ui {

/// Exponential moving average with a memory of a tenth of the points (2 to 50 of them), without bias to its start, from
/// the latest back until the rest weighs under a thousandth; NaN and infinities are left out. Nothing without a finite point.
std::optional<double> movingAverage(const Pyramid& data);
/// Median of the last `count` finite values.
std::optional<double> recentMedian(const Pyramid& data, std::size_t count = 25);
/// "rank 3 is 12 % slower" when a rank's recent step time is 3 % or more over the median rank's; else "".
QString slowRankWords(const RunModel& run);

/// The figures at the right end of each card's title.
QString lossWords(const RunModel& run);
QString validationWords(const RunModel& run);
/// "router 0.013 · z-loss 0.002": of what is added to the loss, what this run has.
QString addedLossWords(const RunModel& run);
QString gradNormWords(const RunModel& run);
QString learningRateWords(const RunModel& run);
QString lossScaleWords(const RunModel& run);
QString throughputWords(const RunModel& run);
QString memoryWords(const RunModel& run);
QString stepTimeWords(const RunModel& run);

/// Newest sample of generated text.
struct Sample {
    std::int64_t step = 0;
    QString prompt;  ///< may be empty
    QString text;    ///< what followed the prompt, or all
};
std::optional<Sample> latestSample(const RunModel& run);

/// Gradient norm of each layer at the latest step that recorded them, in the layers' order.
struct LayerNorms {
    std::int64_t step = 0;
    std::vector<std::pair<QString, double>> layers;
};
LayerNorms latestLayerNorms(const RunModel& run);

}  // namespace plimsoll::ui
