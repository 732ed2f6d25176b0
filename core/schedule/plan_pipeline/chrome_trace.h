// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll {

/// The timeline in the Chrome trace event format (JSON array form), which Perfetto and chrome://tracing open: one
/// thread a rank, one complete event ("X") an op with its micro-batch, chunk and stage as arguments, flow arrows for
/// what passes between ranks, and a counter track a rank with the activations alive. One relative time unit is a
/// millisecond.
std::string chrome_trace(const Pipeline& pipeline);

}  // namespace plimsoll
