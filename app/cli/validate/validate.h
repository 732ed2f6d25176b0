// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/terminal/command.h"

namespace plimsoll::cli {

/// plimsoll validate and its subcommands.
void add_validate(CLI::App& app, Work& work);

}  // namespace plimsoll::cli
