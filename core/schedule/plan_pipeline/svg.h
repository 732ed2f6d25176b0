// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll {

/// The timeline as a standalone SVG picture, light or dark as the viewer is: one row per rank with its idle share, one
/// box per op (coloured by kind, shaded by micro-batch, the number inside where there is room), the curve of live
/// activations under each row, a legend and the bubble.
std::string pipeline_svg(const Pipeline& pipeline);

}  // namespace plimsoll
