// SPDX-License-Identifier: Apache-2.0
// Ops that LibTorch cannot run on tensors without memory, and those that need memory of their own while they run.
#pragma once

namespace plimsoll::engine {

/// Registers them for the meta device (once). What they allocate is what the CPU's kernels of LibTorch 2.11 do, or
/// where the tensors stand for a GPU's (host_values.h) what CUDA's do.
void install_meta_kernels();

}  // namespace plimsoll::engine
