// SPDX-License-Identifier: Apache-2.0
#include "core/planner/fit_limit.h"

#include <algorithm>

#include "core/estimate/count.h"
#include "core/frameworks/error_model.h"

namespace plimsoll {

Bytes largest_that_fits(Framework framework, Bytes memory, double probability, bool on_gpu) {
    const auto fits = [&](Bytes estimate) {
        return out_of_memory_probability(framework, estimate, memory, on_gpu) <= 1 - probability;
    };
    if (probability <= 0 || fits(memory)) return memory;
    // The probability of running out only grows with the estimate.
    Bytes low = 0, high = memory;
    while (high - low > 1) {
        const Bytes middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

Bytes fit_limit(const PlanRequest& request, const Cluster& cluster, Bytes usable) {
    const auto memory = static_cast<Bytes>((1 - request.headroom) * static_cast<double>(usable));
    return largest_that_fits(request.framework, memory, request.fit_probability, !cluster.on_cpu());
}

Bytes host_of_machine(const Cluster& cluster, Bytes host) {
    return (Count(host) * std::min(cluster.world_size(), cluster.gpus_per_node)).value();
}

bool host_holds(const PlanRequest& request, const Cluster& cluster, Bytes host) {
    return request.host_memory <= 0 || host_of_machine(cluster, host) <= request.host_memory;
}

}  // namespace plimsoll
