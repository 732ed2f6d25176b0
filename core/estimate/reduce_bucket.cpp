// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/reduce_bucket.h"

#include "core/base/json.h"

namespace plimsoll {

bool overlaps_reduction(const Plan& plan) {
    if (plan.layout.pp > 1) return false;
    const Json& document = *plan.source;
    const Json* value = &document;
    for (const char* key : {"deepspeed", "zero_optimization", "overlap_comm"}) {
        if (!value->is_object() || !value->contains(key)) return true;
        value = &value->at(key);
    }
    return !value->is_boolean() || value->get<bool>();
}

}  // namespace plimsoll
