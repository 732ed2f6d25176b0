// SPDX-License-Identifier: Apache-2.0
// plimsoll machine: the hardware of this machine.
#include "core/plan/machine.h"
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"

#include "core/base/json.h"

namespace plimsoll::cli {

namespace {

Result<int> machine(bool as_json) {
    const Machine found = probe_machine();
    if (as_json) {
        Json gpus = Json::array();
        for (const LocalGpu& gpu : found.gpus) {
            gpus.push_back({{"name", gpu.name}, {"memory_bytes", gpu.memory}, {"catalogue", gpu.catalogue_name}});
        }
        say_json({{"cores", found.cores},
                  {"ram_bytes", found.ram},
                  {"ram_available_bytes", found.ram_available},
                  {"gpus", gpus},
                  {"gpu_note", found.gpu_note}});
        return 0;
    }
    say(fmt::format("Processors  {} cores\nMemory      {}, {} of it free\n", found.cores, format_bytes(found.ram),
                    format_bytes(found.ram_available)));
    for (const LocalGpu& gpu : found.gpus) {
        say(fmt::format("GPU         {}, {}{}\n", gpu.name, format_bytes(gpu.memory),
                        gpu.catalogue_name.empty() ? " (not in the catalogue)" : " (" + gpu.catalogue_name + ")"));
    }
    if (found.gpus.empty()) say(fmt::format("GPUs        none: {}\n", found.gpu_note));
    return 0;
}

}  // namespace

void add_machine(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "machine", "Show this machine's processors, memory and GPUs");
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "JSON");
    command->callback([as_json, &work] { work = [as_json] { return machine(*as_json); }; });
}

}  // namespace plimsoll::cli
