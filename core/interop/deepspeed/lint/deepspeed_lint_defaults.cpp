// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

/// A key acts only where its block does. bf16.check_grad_overflow is read by stages 1 and 2 (engine.py,
/// _configure_zero_optimizer), except where stage 1 accumulates bf16 gradients in fp32 (BF16_Optimizer).
bool acts(const Case& c, const std::string& key) {
    if (key == "gradient_clipping") return true;
    if (key == "bf16.check_grad_overflow") {
        const bool own_optimizer = c.stage() == 1 && dtype_word(c.text("data_types.grad_accum_dtype")) == "fp32" &&
                                   c.offload("offload_optimizer") == "none";
        return c.bf16() && (c.stage() == 1 || c.stage() == 2) && !own_optimizer;
    }
    if (key.starts_with("zero_optimization.offload_param.")) {
        return c.stage() == 3 && c.offload("offload_param") != "none";
    }
    return c.stage() > 0 && c.offload("offload_optimizer") != "none";
}

/// Left out, and not "auto", for which somebody writes a value or which has a finding of its own.
bool left_out(const Case& c, std::string_view path) {
    const Json* block = &c.file;
    for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
        if (!block->is_object() || !block->contains(std::string(path.substr(0, dot)))) return true;
        block = &(*block)[std::string(path.substr(0, dot))];
        path.remove_prefix(dot + 1);
    }
    return !block->is_object() || !block->contains(std::string(path));
}

constexpr std::array<const char*, 4> moved_keys{"gradient_clipping", "bf16.check_grad_overflow",
                                                "zero_optimization.offload_param.pin_memory",
                                                "zero_optimization.offload_optimizer.pin_memory"};

}  // namespace

void lint_defaults(Case& c) {
    for (const char* path : moved_keys) {
        const DeepSpeedKey* key = c.schema.find(path);
        if (!key || key->moved.empty() || !left_out(c, path) || !acts(c, path)) continue;
        if (c.schema.presence(path, c.release) != DeepSpeedPresence::There) continue;
        const DeepSpeedKey::Move& move = key->moved.back();
        c.note("moved-default", path, "left out, it is {} before {} and {} since: write the value that is meant",
               shown(move.before), move.at.text(), shown(key->default_value));
    }
}

}  // namespace plimsoll::deepspeed
