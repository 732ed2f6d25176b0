// SPDX-License-Identifier: Apache-2.0
// The command line's limits on a search: --tp 1,2,4 --zero 1,3 --schedule 1f1b …
#pragma once

#include "app/cli/terminal/command.h"
#include "core/planner/request.h"

namespace plimsoll::cli {

struct ChoiceTexts {
    std::string tp, pp, cp, ep, zero, micro_batch, chunks, sequence_parallel, schedule, recompute, offload;
};

void add_choices(CLI::App& command, ChoiceTexts& texts);
/// Error for a text that is no number or known name; the sentence lists the known names.
Result<Choices> read_choices(const ChoiceTexts& texts);
/// "1,2,4" -> {1, 2, 4}; error for anything but numbers of 0 or more.
Result<std::vector<std::int64_t>> whole_numbers(const std::string& text, char separator, const char* option);

}  // namespace plimsoll::cli
