// SPDX-License-Identifier: Apache-2.0
// What PYTORCH_CUDA_ALLOC_CONF says, as far as it changes how memory is cut.
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
    /// Share of the card above which unused blocks are given back before more is asked for; 0: never. PyTorch heeds it
    /// only where a memory fraction was set, which is taken for granted here.
    double garbage_collection_threshold = 0;
    /// Sizes are rounded up to one of so many steps between powers of two; 0 and 1: to 512 B.
    std::int64_t roundup_power2_divisions = 0;
};

/// "expandable_segments:True,max_split_size_mb:128", as PyTorch writes it; empty: the defaults. Names that change no
/// sizes (backend:native) are refused like unknown ones, with those that are known.
Result<AllocatorSettings> parse_allocator_settings(std::string_view text);

}  // namespace plimsoll
