// SPDX-License-Identifier: Apache-2.0
// What `plimsoll bench` compares: plans that differ in a few settings.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::cli {

struct Variant {
    std::string name;
    Plan plan;
};

/// The plan as a short run of training steps alone, without validation, samples, and checkpoints but the last.
Result<Plan> for_bench(Plan plan, std::int64_t steps);

/// The plan with settings ("layout.dp=1 layout.tp=2", separated by spaces). Other settings follow: on the CPU
/// cluster.gpus_per_node becomes the layout's number of ranks, and layout.accumulation keeps the global batch.
Result<Variant> make_variant(const Plan& base, const std::string& name, const std::string& settings);

/// Names of the built-in sets, for --set.
inline const std::vector<std::string> bench_sets{"recompute", "data-parallel", "all-reduce"};
/// Settings that make the default plan into the base plan of a set.
std::vector<std::string> settings_of_set(const std::string& set);
Result<std::vector<Variant>> variants_of_set(const std::string& set, const Plan& base);

/// training.bucket_mib at its usual sizes.
Result<std::vector<Variant>> bucket_variants(const Plan& base);

}  // namespace plimsoll::cli
