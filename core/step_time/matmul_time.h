// SPDX-License-Identifier: Apache-2.0
// Time of one matrix product, by its shape.
#pragma once

#include "core/step_time/hardware.h"

namespace plimsoll {

/// `batch` products of (m x k) by (k x n) in `bytes` B an element: the larger of two roofs (Williams 2009). Arithmetic:
/// tiles of the output are dealt over the multiprocessors in waves, and a last wave that is not full takes as long as a
/// full one (tile and wave quantisation, "Matrix Multiplication Background User's Guide", NVIDIA); the tile is the one
/// that ends first of 256 x 128, 128 x 128, 128 x 64 and 64 x 64. `reached` is the share of the peak for full tiles;
/// a tile spends `inner_ramp` elements of k on starting. Memory: each operand read once, the output written once.
Seconds matmul_time(const Hardware& hardware, double m, double n, double k, double batch, double bytes, double reached);
/// One product at efficiency.matmul.
Seconds matmul_time(const Hardware& hardware, double m, double n, double k, double bytes);

/// An element-wise kernel that moves so many bytes, without the gap before it.
Seconds elementwise_time(const Hardware& hardware, double bytes);

}  // namespace plimsoll
