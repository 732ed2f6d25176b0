// SPDX-License-Identifier: Apache-2.0
// The programs that launchers start: the script of an exported tool, or one of the user's own.
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/nearest.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll {

const std::vector<std::string>& export_programs() {
    static const std::vector<std::string> names{"megatron", "torchtitan", "torchtitan-0.3", "llama-factory", "axolotl"};
    return names;
}

namespace exports {

namespace {

/// A module that reads the file of an export: the file has to lie where the program starts.
Result<Program> reads_file(const Plan& plan, std::string_view name, std::string_view module_and_option) {
    PLIMSOLL_TRY(const auto exported, export_plan(plan, name));
    PLIMSOLL_TRY(const auto target, export_target(name));
    Program program{CommandLine(fmt::format("{} {}", module_and_option, target.file_name)), "", {}};
    program.notes.push_back(
        fmt::format("{} is what `plimsoll export {}` writes, with notes of its own.", target.file_name, name));
    return program;
}

}  // namespace

std::string script_note(const Plan& plan) {
    return fmt::format(
        "train.py is your script: the launcher says how many ranks there are ({}) and nothing else of the plan. For "
        "Plimsoll's own engine write --no-python plimsoll-worker in its place where the launcher is torchrun.",
        plan.layout.world_size());
}

Result<Program> program_of(const Plan& plan, std::string_view name) {
    if (name.empty()) return Program{CommandLine("train.py"), "", {script_note(plan)}};
    if (name == "megatron") return megatron_program(plan);
    if (name == "torchtitan-0.3") return torchtitan_program(plan);
    if (name == "torchtitan") return reads_file(plan, name, "-m torchtitan.train --job.config_file");
    if (name == "llama-factory") return reads_file(plan, name, "-m llamafactory.launcher");
    if (name == "axolotl") return reads_file(plan, name, "-m axolotl.cli.train");
    return bad_input("no program is called \"{}\"{}; a launcher starts {}, or without a name train.py", name,
                     did_you_mean(name, export_programs()), fmt::join(export_programs(), ", "));
}

}  // namespace exports

}  // namespace plimsoll
