// SPDX-License-Identifier: GPL-3.0-or-later
// The pipeline in figures and sentences.
#pragma once

#include <QList>
#include <QString>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll::ui {

struct Figure {
    QString name;   ///< "Bubble"
    QString value;  ///< "8.6 %"
    QString note;   ///< meaning or source of the figure
};

/// Bubble, closed form, bubble a rank where backward is split, peak activations, imbalance. `batchBytes`: activations
/// of a micro-batch on the rank with most layers; 0: unknown.
QList<Figure> pipelineFigures(const Pipeline& pipeline, double batchBytes = 0);
/// "ZB-H1, 4 ranks, 8 micro-batches".
QString shapeWords(const Pipeline& pipeline);
/// Why the simulated bubble differs from the closed form's, from simulations with equal stages and without sends.
QString differenceWords(const Pipeline& pipeline);
/// "ZB-H1 saves 8.5 % of the step and keeps as many activations."
QString comparisonWords(const Pipeline& first, const Pipeline& second);
/// "The last stage holds the head and takes 1.2 times the mean."; "" for equal stages.
QString slowestWords(const Pipeline& pipeline);

/// Time of the slowest rank / time of the mean one; 1 for equal stages.
double imbalance(const Pipeline& pipeline);
/// "4" or "2.5".
QString batchesText(double microBatches);

}  // namespace plimsoll::ui
