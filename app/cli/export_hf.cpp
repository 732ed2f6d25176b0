// SPDX-License-Identifier: Apache-2.0
// plimsoll export hf and peft: a run's checkpoint as a folder for transformers, its adapters for PEFT.
#include <optional>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/parse_bytes.h"
#include "core/interop/model_files/folder_aside.h"
#include "core/interop/model_files/hf_folder.h"
#include "core/plan/adapter.h"
#include "core/run/processes/merge_process.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"

namespace plimsoll::cli {

namespace {

struct ExportHfArguments {
    std::string run, out;
    std::optional<std::int64_t> step;
    std::string shard_size = "5GB";
};

void show_copied(Bytes done, Bytes total) {
    if (!is_terminal(stdout)) return;
    say_exactly(
        fmt::format("\r{} of {}\x1b[K{}", format_bytes(done), format_bytes(total), done == total ? "\r\x1b[K" : ""));
    std::fflush(stdout);
}

struct Found {
    RunFolder run;
    Plan plan;
    std::filesystem::path checkpoint;
};

/// The run, its plan and the requested checkpoint.
Result<Found> find_checkpoint(const ExportHfArguments& arguments) {
    if (arguments.step && *arguments.step < 1) {
        return bad_input("--step is {}: 1 or more is needed; without it the newest is taken", *arguments.step);
    }
    PLIMSOLL_TRY(const auto run, find_run(arguments.run));
    PLIMSOLL_TRY(const auto plan, run.plan());
    const auto weights = adapts(plan) ? ExportedWeights::Adapter : ExportedWeights::Model;
    std::vector<std::string> skipped;
    auto checkpoint = checkpoint_to_export(run.checkpoints(), arguments.step.value_or(0), weights, &skipped);
    for (const std::string& each : skipped) warn(fmt::format("a damaged checkpoint was passed over: {}", each));
    if (!checkpoint) return tl::unexpected(checkpoint.error());
    return Found{run, plan, *std::move(checkpoint)};
}

Result<int> export_to_peft(const ExportHfArguments& arguments) {
    PLIMSOLL_TRY(const auto found, find_checkpoint(arguments));
    const std::string out = arguments.out.empty() ? found.run.name() + "-adapter" : arguments.out;
    PLIMSOLL_CHECK(export_peft_folder(found.checkpoint, out));
    const std::string& base = found.plan.model.weights;
    say(fmt::format(
        "the adapters of {} of run {} are in {}: {} numbers; load them with "
        "PeftModel.from_pretrained(base, \"{}\"), the base being {}\n",
        found.checkpoint.filename().string(), found.run.name(), out, format_count(adapter_parameters(found.plan)), out,
        base.empty() ? "the model's initial weights" : base));
    return 0;
}

Result<int> export_to_hf(const ExportHfArguments& arguments) {
    HfFolderOptions options;
    const auto shard_size = parse_bytes(arguments.shard_size);
    if (!shard_size) {
        return bad_input("--shard-size is \"{}\"; give a size such as 5GB, 500MB or 2GiB", arguments.shard_size);
    }
    options.shard_size = *shard_size;
    PLIMSOLL_TRY(auto found, find_checkpoint(arguments));
    const std::string out = arguments.out.empty() ? found.run.name() + "-hf" : arguments.out;
    const std::string step_name = found.checkpoint.filename().string();
    // Removed on return: the export is a copy of it.
    std::optional<FolderAside> merging;
    if (adapts(found.plan)) {
        PLIMSOLL_CHECK(require_free_place(out, 0));
        PLIMSOLL_TRY(auto aside, FolderAside::make(out + "-merging"));
        merging.emplace(std::move(aside));
        PLIMSOLL_CHECK(merge_adapter(found.plan, found.checkpoint, merging->path() / "model"));
        found.checkpoint = merging->path() / "model";
    }
    count_interrupts();
    options.go_on = [](Bytes done, Bytes total) {
        show_copied(done, total);
        return interrupts == 0;
    };
    PLIMSOLL_TRY(const auto written, export_hf_folder(found.checkpoint, out, options));
    say(
        fmt::format("{} of run {} is in {}: {} tensors, {} in {}; read it with "
                    "AutoModelForCausalLM.from_pretrained(\"{}\"); a token is a byte of the text\n",
                    step_name, found.run.name(), out, written.tensors, format_bytes(written.bytes),
                    written.files == 1 ? "one file" : fmt::format("{} files", written.files), out));
    return 0;
}

}  // namespace

void add_export_hf(CLI::App& parent, Work& work) {
    CLI::App* peft =
        add_command(parent, "peft", "A run's newest whole adapters as a folder that PEFT's from_pretrained reads");
    const auto adapters = std::make_shared<ExportHfArguments>();
    peft->add_option("RUN", adapters->run, "A run's name, its folder, or latest")->required();
    peft->add_option("--out", adapters->out, "Folder to make (whole or not at all); default: RUN-adapter, here")
        ->type_name("DIR");
    peft->add_option("--step", adapters->step, "The checkpoint of this step; without it the newest whole one")
        ->type_name("N");
    peft->callback([adapters, &work] { work = [adapters] { return export_to_peft(*adapters); }; });

    CLI::App* command = add_command(
        parent, "hf",
        "A run's newest whole checkpoint as a folder that transformers' from_pretrained reads; adapters are "
        "added to their model");
    const auto arguments = std::make_shared<ExportHfArguments>();
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
