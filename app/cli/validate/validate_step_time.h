// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/terminal/command.h"

namespace plimsoll::cli {

/// plimsoll validate step-time
void add_validate_step_time(CLI::App& validate, Work& work);

}  // namespace plimsoll::cli
