// SPDX-License-Identifier: Apache-2.0
// plimsoll export hf: a run's checkpoint as a folder for transformers.
#include <optional>

#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"
#include "core/base/parse_bytes.h"
#include "core/interop/hf_folder.h"
#include "core/run/run_folder.h"

namespace plimsoll::cli {

namespace {

struct Arguments {
    std::string run, out;
    std::optional<std::int64_t> step;
    std::string shard_size = "5GB";
};

void show_copied(Bytes done, Bytes total) {
    if (!is_terminal(stdout)) return;
    say(fmt::format("\r{} of {}\x1b[K{}", format_bytes(done), format_bytes(total), done == total ? "\r\x1b[K" : ""));
    std::fflush(stdout);
}

Result<int> export_to_hf(const Arguments& arguments) {
    HfFolderOptions options;
    const auto shard_size = parse_bytes(arguments.shard_size);
    if (!shard_size) {
        return bad_input("--shard-size is \"{}\"; give a size such as 5GB, 500MB or 2GiB", arguments.shard_size);
    }
    options.shard_size = *shard_size;
    if (arguments.step && *arguments.step < 1) {
        return bad_input("--step is {}: 1 or more is needed; without it the newest is taken", *arguments.step);
    }
    const auto run = find_run(arguments.run);
    if (!run) return tl::unexpected(run.error());

    std::vector<std::string> skipped;
    const auto checkpoint = checkpoint_to_export(run->checkpoints(), arguments.step.value_or(0), &skipped);
    for (const std::string& each : skipped) warn(fmt::format("a damaged checkpoint was passed over: {}", each));
    if (!checkpoint) return tl::unexpected(checkpoint.error());
    const std::string out = arguments.out.empty() ? run->name() + "-hf" : arguments.out;
    count_interrupts();
    options.go_on = [](Bytes done, Bytes total) {
        show_copied(done, total);
        return interrupts == 0;
    };
    const auto written = export_hf_folder(*checkpoint, out, options);
    if (!written) return tl::unexpected(written.error());
    say(
        fmt::format("{} of run {} is in {}: {} tensors, {} in {}; read it with "
                    "AutoModelForCausalLM.from_pretrained(\"{}\"); a token is a byte of the text\n",
                    checkpoint->filename().string(), run->name(), out, written->tensors, format_bytes(written->bytes),
                    written->files == 1 ? "one file" : fmt::format("{} files", written->files), out));
    return 0;
}

}  // namespace

void add_export_hf(CLI::App& parent, Work& work) {
    CLI::App* command = add_command(
        parent, "hf", "A run's newest whole checkpoint as a folder that transformers' from_pretrained reads");
    const auto arguments = std::make_shared<Arguments>();
    command->add_option("RUN", arguments->run, "A run's name, its folder, or latest")->required();
    command->add_option("--out", arguments->out, "Folder to make (whole or not at all); default: RUN-hf, here")
        ->type_name("DIR");
    command->add_option("--step", arguments->step, "The checkpoint of this step; without it the newest whole one")
        ->type_name("N");
    command
        ->add_option("--shard-size", arguments->shard_size,
                     "Weights beyond it go to several files with an index; 5GB, 500MB, 2GiB")
        ->type_name("SIZE")
        ->capture_default_str();
    command->callback([arguments, &work] { work = [arguments] { return export_to_hf(*arguments); }; });
}

}  // namespace plimsoll::cli
