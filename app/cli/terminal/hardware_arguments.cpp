// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal/hardware_arguments.h"

#include <algorithm>

#include "app/cli/terminal/terminal.h"
#include "core/plan/gpu.h"
#include "core/plan/layout_change.h"

namespace plimsoll::cli {

Result<Plan> on_hardware(Plan plan, const std::string& gpu, const std::optional<std::int64_t>& gpus,
                         const std::vector<std::string>& settings) {
    if (gpu == "cpu") {
        plan.cluster.gpu = gpu;
    } else if (!gpu.empty()) {
        PLIMSOLL_TRY(const auto found, find_gpu(gpu));
        plan.cluster.gpu = found.name;
    }
    if (!gpu.empty()) plan.cluster.usable_gib = 0;  // the plan's value was about another GPU
    if (!gpus) return plan;
    std::vector<std::string> notes;
    const bool sets_batch = std::any_of(settings.begin(), settings.end(), [](const std::string& setting) {
        return sets_global_batch(std::string_view(setting).substr(0, setting.find('=')));
    });
    auto changed = with_gpus(std::move(plan), *gpus, notes, sets_batch ? GlobalBatch::Follows : GlobalBatch::Stays);
    for (const std::string& note : notes) warn(note);
    return changed;
}

}  // namespace plimsoll::cli
