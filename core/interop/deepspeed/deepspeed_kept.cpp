// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_import.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"

namespace plimsoll::deepspeed {

namespace {

bool is_constant(const LrSchedule& lr) {
    return lr.kind == LrKind::Constant && lr.warmup_steps == 0 && lr.warmup_fraction == 0 && !lr.tail;
}

void merge(Json& into, const Json& kept) {
    for (const auto& [key, value] : kept.items()) {
        // The parameters of another optimizer or scheduler do not mix with the export's.
        const bool another = value.is_object() && value.contains("type");
        if (value.is_object() && !another && into.contains(key) && into[key].is_object()) {
            merge(into[key], value);
        } else {
            into[key] = value;
        }
    }
}

}  // namespace

void add_kept(Json& json, const Plan& plan) {
    if (!plan.source->is_object()) return;
    const auto found = plan.source->find("deepspeed");
    if (found == plan.source->end() || !found->is_object()) return;
    Json kept = *found;
    // The file that was imported has no scheduler, which is what a constant rate needs.
    if (kept.contains("scheduler") && kept.at("scheduler").is_null()) {
        kept.erase("scheduler");
        if (is_constant(plan.lr)) json.erase("scheduler");
    }
    merge(json, kept);
}

void note_refused(const Json& json, const Plan& plan, Notes& notes) {
    const auto lint =
        lint_deepspeed(json.dump(-1, ' ', false, Json::error_handler_t::replace), "the export", deepspeed_launch(plan));
    if (!lint) return notes.push_back(lint.error().message);
    for (const DeepSpeedFinding& each : lint->findings) {
        if (each.level != DeepSpeedFinding::Level::Refused) continue;
        notes.push_back(fmt::format("DeepSpeed {} refuses an export with {}: {}.", plan.exports.deepspeed_release,
                                    each.key, each.sentence));
    }
}

}  // namespace plimsoll::deepspeed
