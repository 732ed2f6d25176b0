// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll {

/// The timeline in the Chrome trace event format (JSON array form), which Perfetto and chrome://tracing open: one
/// thread per rank, one complete event ("X") per op with micro-batch, chunk and stage as arguments, flow arrows for
/// tensors that pass between ranks, and one counter track per rank with the live activations. One relative time unit is
/// a millisecond.
std::string chrome_trace(const Pipeline& pipeline);

}  // namespace plimsoll
