// SPDX-License-Identifier: Apache-2.0
#include "core/interop/export_notes/export_notes.h"
#include "core/plan/hugging_face/kept_keys.h"

namespace plimsoll::exports {

void note_kept_keys(const Plan& plan, std::string_view who, Notes& notes) {
    for (const KeyFinding& each : kept_findings(plan)) {
        notes.push_back(fmt::format("{} of the model's config.json is not in {}, nor in the plan: {}.", each.key, who,
                                    each.sentence));
    }
}

}  // namespace plimsoll::exports
