// SPDX-License-Identifier: Apache-2.0
// The parts of check_plan(), each adding what it finds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/plan/checks/check_plan.h"

namespace plimsoll {

class Problems {
public:
    template <class... Args>
    void add(std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
        found.push_back({std::string(key), fmt::format(format, std::forward<Args>(args)...)});
    }
    std::vector<Problem> found;
};

/// Values outside the ranges of the field list: the other checks and the estimators rely on them.
void check_ranges(Problems& problems, const Plan& plan);
/// Products that would leave int64: the estimators rely on these limits.
void check_sizes(Problems& problems, const Plan& plan);
void check_model(Problems& problems, const Model& model);
/// Ranks, tensor, pipeline, context and expert parallelism against the model and the cluster.
void check_parallelism(Problems& problems, const Plan& plan);
/// Recomputation, offload of activations, the pieces of the loss, the split and the schedule's file.
void check_activations(Problems& problems, const Plan& plan);
/// ZeRO, offload, hardware and data.
void check_recipe(Problems& problems, const Plan& plan);
/// Loss scaling, learning rate and gradient guard.
void check_control(Problems& problems, const Plan& plan);
/// Norm placement, initial weights, muP and the noise scale.
void check_stability(Problems& problems, const Plan& plan);

/// Adapters against the model and the rest of the plan.
void check_adapter(Problems& problems, const Plan& plan);

/// "4 or 8": of the divisors that `all` have in common, the largest below `value` and the smallest above it.
std::string nearest_divisors(std::int64_t value, const std::vector<std::int64_t>& all);

/// "1, 2, 4 or 8": every divisor that `all` have in common and that fits, or the first few of very many.
std::string common_divisors(const std::vector<std::int64_t>& all, const std::function<bool(std::int64_t)>& fits);

}  // namespace plimsoll
