// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/largest_allocation.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> largest{0};
}

#if !defined(__SANITIZE_ADDRESS__)
void* operator new(std::size_t size) {
    for (std::size_t seen = largest; size > seen && !largest.compare_exchange_weak(seen, size);) {
    }
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace plimsoll {

std::size_t largest_allocation() { return largest; }
void forget_allocations() { largest = 0; }

}  // namespace plimsoll
