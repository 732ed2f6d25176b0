// SPDX-License-Identifier: Apache-2.0
// One thing that a tool's code asserts of the options it is given.
#pragma once

#include <functional>
#include <string_view>

#include "core/plan/plan.h"
#include "tests/interop/exports/tool_options.h"

namespace plimsoll {

struct ToolRule {
    std::string_view place;  ///< file and line of the tool's source
    std::function<bool(const ToolOptions& o, const Plan& plan)> holds;
};

}  // namespace plimsoll
