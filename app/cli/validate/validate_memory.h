// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/terminal/command.h"

namespace plimsoll::cli {

/// plimsoll validate memory
void add_validate_memory(CLI::App& validate, Work& work);

}  // namespace plimsoll::cli
