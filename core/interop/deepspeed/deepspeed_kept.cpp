// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_import.h"

namespace plimsoll::deepspeed {

namespace {

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
    const auto kept = plan.source->find("deepspeed");
    if (kept != plan.source->end() && kept->is_object()) merge(json, *kept);
}

}  // namespace plimsoll::deepspeed
