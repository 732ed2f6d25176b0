// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/terminal/command.h"

namespace plimsoll::cli {

/// plimsoll bench and its subcommands.
void add_bench(CLI::App& app, Work& work);

}  // namespace plimsoll::cli
