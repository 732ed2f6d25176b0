// SPDX-License-Identifier: Apache-2.0
// The settings in PYTORCH_CUDA_ALLOC_CONF that change how memory is divided.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

struct AllocatorSettings {
    /// Blocks of this size and more are never split; 0: all may be. PyTorch takes more than 20 MiB.
    Bytes max_split_size = 0;
    /// Segments that grow page by page (2 MiB in the small pool, 20 MiB in the large one) instead of one cudaMalloc
    /// each.
    bool expandable_segments = false;
    /// Share of the card above which unused blocks are given back before more is requested; 0: never. PyTorch uses it
    /// only where a memory fraction was set, which is assumed here.
    double garbage_collection_threshold = 0;
    /// Sizes are rounded up to one of this many steps between powers of two; 0 and 1: to 512 B.
    std::int64_t roundup_power2_divisions = 0;
};

/// Parses "expandable_segments:True,max_split_size_mb:128", as PyTorch writes it; an empty text means the defaults.
/// Names that change no sizes (backend:native) are refused like unknown ones; the error lists the known names.
Result<AllocatorSettings> parse_allocator_settings(std::string_view text);

}  // namespace plimsoll
