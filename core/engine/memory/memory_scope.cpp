// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

namespace {
thread_local MemoryLabel label;
thread_local bool in_host_memory = false;
}  // namespace

MemoryLabel& memory_label() { return label; }

HostMemoryScope::HostMemoryScope() : before_(in_host_memory) { in_host_memory = true; }
HostMemoryScope::~HostMemoryScope() { in_host_memory = before_; }
bool HostMemoryScope::active() { return in_host_memory; }

}  // namespace plimsoll::engine
