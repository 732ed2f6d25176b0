// SPDX-License-Identifier: Apache-2.0
// What binds when nothing fits, and the least that has to give way.
#pragma once

#include "core/planner/search.h"

namespace plimsoll {

/// Fills result.binding and result.relaxations: tries the choices one by one without their limits, offload, more nodes,
/// shorter sequences, other batches and GPUs with more memory, each by a search of its own for the best layout.
void relax(const PlanRequest& request, const std::vector<Pool>& pools, PlanResult& result);

}  // namespace plimsoll
