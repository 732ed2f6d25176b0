// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

/// A key acts only where its block does.
bool acts(const Case& c, const std::string& key) {
    if (key == "gradient_clipping") return true;
    if (key == "bf16.check_grad_overflow") return c.bf16();
    if (key.starts_with("zero_optimization.offload_param.")) return c.offload("offload_param") != "none";
    return c.offload("offload_optimizer") != "none";
}

constexpr std::array<const char*, 4> moved_keys{"gradient_clipping", "bf16.check_grad_overflow",
                                                "zero_optimization.offload_param.pin_memory",
                                                "zero_optimization.offload_optimizer.pin_memory"};

}  // namespace

void lint_defaults(Case& c) {
    for (const char* path : moved_keys) {
        const DeepSpeedKey* key = c.schema.find(path);
        if (!key || key->moved.empty() || c.has(path) || !acts(c, path)) continue;
        if (c.schema.presence(path, c.release) != DeepSpeedPresence::There) continue;
        const DeepSpeedKey::Move& move = key->moved.back();
        c.danger("moved-default", path, "left out, it is {} before {} and {} since: write the value that is meant",
                 shown(move.before), move.at.text(), shown(key->default_value));
    }
}

}  // namespace plimsoll::deepspeed
