// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>

#include "core/plan/adapter.h"
#include "core/plan/checks/problems.h"

namespace plimsoll {

void check_adapter(Problems& problems, const Plan& plan) {
    const Adapter& adapter = plan.adapter;
    if (!adapts(plan)) {
        if (!adapter.weights.empty()) {
            problems.add("adapter.rank",
                         "adapter.weights names an adapter to start from, but adapter.rank is 0; set it to the "
                         "adapter's r, or clear adapter.weights");
        }
        return;
    }
    const std::vector<LayerMatrix> matrices = layer_matrices(plan.model);
    if (matrices.empty()) {
        problems.add("adapter.rank", "T5 has no adapters here; set adapter.rank to 0");
        return;
    }
    std::vector<std::string_view> names;
    for (const LayerMatrix& matrix : matrices) names.push_back(matrix.module);
    if (const auto unknown = unknown_targets(plan); !unknown.empty()) {
        problems.add("adapter.targets",
                     "adapter.targets names \"{}\", which is no matrix of the model's layers; take all-linear, "
                     "attention, or of {}",
                     unknown.front(), fmt::join(names, ", "));
    }
    const std::vector<LayerMatrix> adapted = adapted_matrices(plan);
    if (adapted.empty()) {
        problems.add("adapter.targets", "adapter.targets is empty; take all-linear, attention, or names such as {}",
                     matrices.front().leaf());
    }
    for (const LayerMatrix& matrix : adapted) {
        const std::int64_t most = std::min(matrix.in, matrix.out);
        if (adapter.rank <= most) continue;
        problems.add("adapter.rank", "adapter.rank is {}, more than the {} of {}; take {} at most", adapter.rank, most,
                     matrix.module, most);
        break;
    }
    if (plan.model.mup_base_width > 0) {
        problems.add("model.mup_base_width",
                     "muP sets the rates of weights, which adapters leave as they are; set model.mup_base_width to 0");
    }
    if (plan.layout.recompute == Recompute::Mlp) {
        problems.add("layout.recompute",
                     "layout.recompute mlp knows no adapters; take selective or full, or set adapter.rank to 0");
    }
}

}  // namespace plimsoll
