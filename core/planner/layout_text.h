// SPDX-License-Identifier: Apache-2.0
// A layout in words.
#pragma once

#include "core/planner/planner.h"

namespace plimsoll {

/// "dp 4, tp 8 + sp, pp 2 interleaved 1F1B x 3, ZeRO-1, 2 x 16, selective": the values in which a layout differs from
/// the plainest one.
std::string layout_words(const Layout& layout);

}  // namespace plimsoll
