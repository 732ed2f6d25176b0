// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll {

/// The timeline as a standalone SVG picture, light or dark as the viewer is: a row a rank with its idle share, a box an
/// op (coloured by kind, shaded by micro-batch, its number inside where there is room), the curve of activations alive
/// under it, a legend and the bubble.
std::string pipeline_svg(const Pipeline& pipeline);

}  // namespace plimsoll
