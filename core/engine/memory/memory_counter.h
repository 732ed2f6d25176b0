// SPDX-License-Identifier: Apache-2.0
// Counts every tensor byte: live now and peak.
#pragma once

#include "core/allocator/memory_timeline.h"
#include "core/base/units.h"

namespace plimsoll::engine {

/// Installs the counting CPU allocator (once, before the first tensor). CUDA figures come from plimsoll-cuda.
void install_memory_counter();
Bytes memory_now();
Bytes memory_peak();
void reset_memory_peak();

/// Most since the last mark (a step's own peak).
void mark_memory();
Bytes memory_peak_since_mark();

/// Live bytes by what they are for (memory_scope.h).
CategoryBytes memory_by_category();

}  // namespace plimsoll::engine
