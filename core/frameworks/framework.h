// SPDX-License-Identifier: Apache-2.0
// The programs under which a plan can be trained, as far as their memory differs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.h"

namespace plimsoll {

enum class Framework { Plimsoll, DeepSpeed, Megatron, TorchTitan, HfTrainer };
inline constexpr std::array<std::string_view, 5> framework_names{"plimsoll", "deepspeed", "megatron", "torchtitan",
                                                                 "hf-trainer"};
inline constexpr std::array frameworks{Framework::Plimsoll, Framework::DeepSpeed, Framework::Megatron,
                                       Framework::TorchTitan, Framework::HfTrainer};

inline std::string_view name_of(Framework framework) { return framework_names[static_cast<std::size_t>(framework)]; }

/// The framework with that name in framework_names.
std::optional<Framework> find_framework(std::string_view name);

/// Properties of a framework that are alike for every plan. `source` says where the numbers come from.
struct Profile {
    std::string_view title;   ///< "Megatron-LM"
    std::string_view states;  ///< dtypes of weights, gradients, masters: shown to a person
    std::string_view source;
    /// Reserved ÷ allocated memory of PyTorch's caching allocator, in percent: eager, compiled, with
    /// expandable_segments.
    int reserved_percent = 100, reserved_percent_compiled = 100, reserved_percent_expandable = 100;
};
const Profile& profile_of(Framework framework);

}  // namespace plimsoll
