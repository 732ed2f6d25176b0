// SPDX-License-Identifier: Apache-2.0
// The constraint that binds when nothing fits, and the least change with which something does.
#pragma once

#include "core/planner/search.h"

namespace plimsoll {

/// Fills result.binding and result.relaxations. Tries one change at a time: each choice without its limits, offload,
/// more nodes, shorter sequences, other batches and GPUs with more memory. Each change gets a search of its own for the
/// best layout.
/// `host_binds`: a layout fits the GPUs, and the machine's memory does not hold what it offloads.
void relax(const PlanRequest& request, const std::vector<Pool>& pools, bool host_binds, PlanResult& result);

}  // namespace plimsoll
