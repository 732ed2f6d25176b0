// SPDX-License-Identifier: Apache-2.0
// What fits, with what probability.
#pragma once

#include "core/planner/request.h"

namespace plimsoll {

/// The largest estimate of a peak that `memory` holds with at least that probability (out_of_memory_probability), and
/// never more than `memory`. A search works this out once and compares bytes from then on.
Bytes largest_that_fits(Framework framework, Bytes memory, double probability, bool on_gpu);

/// The largest peak of a rank of the cluster that the request takes for fitting: its headroom and its least probability
/// counted. `usable` is usable_bytes() of the cluster.
Bytes fit_limit(const PlanRequest& request, const Cluster& cluster, Bytes usable);

/// Whether a machine's memory holds what all its ranks offload; `host` is a rank's share.
bool host_holds(const PlanRequest& request, const Cluster& cluster, Bytes host);
/// Host memory that the ranks of one machine need together.
Bytes host_of_machine(const Cluster& cluster, Bytes host);

}  // namespace plimsoll
