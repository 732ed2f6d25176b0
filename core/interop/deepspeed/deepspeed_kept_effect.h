// SPDX-License-Identifier: Apache-2.0
// What a key of DeepSpeed's file does that a plan has no field for: why it may be kept without a word, or not.
#pragma once

#include <optional>
#include <string_view>

namespace plimsoll::deepspeed {

enum class KeptEffect {
    Plan,      ///< the plan has a field for it
    Reports,   ///< prints, measures or logs
    Files,     ///< where and how checkpoints and swap files are written and read
    Buffers,   ///< how buffers and collectives run: the same result, a little memory or time
    Training,  ///< changes the result, or what a rank holds
};

/// By dotted path, under today's names; nothing for a path that is not in the list.
std::optional<KeptEffect> kept_effect(std::string_view path);

}  // namespace plimsoll::deepspeed
