// SPDX-License-Identifier: Apache-2.0
// Memory for tensors that have none: counted, written down, never taken.
#pragma once

#include "core/base/units.h"

namespace plimsoll::engine {

/// Installs the allocator of meta tensors (once). Each allocation goes to the MemoryRecorder that lives, those in a
/// HostMemoryScope to the figures below.
void install_meta_allocator();

/// Of meta tensors that stand for host memory.
Bytes meta_host_peak();
void reset_meta_host_peak();

}  // namespace plimsoll::engine
