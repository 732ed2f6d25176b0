// SPDX-License-Identifier: Apache-2.0
// Studies of stability in real short runs: norms and initial weights by depth, optimizers by batch.
#pragma once

#include "app/cli/terminal/command.h"

namespace plimsoll::cli {

/// plimsoll bench depth: gradient norms by layer, at the start and after the run, and the perplexity reached.
void add_bench_depth(CLI::App& bench, Work& work);

/// plimsoll bench optimizers: loss over tokens of AdamW and LAMB at a small and a large batch.
void add_bench_optimizers(CLI::App& bench, Work& work);

}  // namespace plimsoll::cli
