// SPDX-License-Identifier: Apache-2.0
// The largest piece of memory that was asked for at once.
#pragma once

#include <cstddef>

namespace plimsoll {

/// Since the last call of forget_allocations(); 0 under the address sanitizer, which has an operator new of its own and
/// a limit for it: ASAN_OPTIONS=max_allocation_size_mb.
std::size_t largest_allocation();
void forget_allocations();

}  // namespace plimsoll
