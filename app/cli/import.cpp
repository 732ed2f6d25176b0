// SPDX-License-Identifier: Apache-2.0
// plimsoll import: another tool's file as a plan.
#include <charconv>

#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_import.h"
#include "core/interop/deepspeed/facts/relaxed_json.h"
#include "core/interop/deepspeed/process_config.h"
#include "core/interop/model_files/checkpoint_counts.h"
#include "core/interop/model_files/gguf_model.h"
#include "core/interop/model_files/safetensors_counts.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/plan/hugging_face/same_model.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/run/processes/merge_process.h"

namespace plimsoll::cli {

namespace {

struct ImportArguments {
    std::string config;
    std::string output;
    PlanArguments base;
    bool json = false;
    std::string model_folder;  ///< the model's folder, for an adapter
    std::string merge;         ///< folder for the merged model
};

Result<int> write_plan(const ImportArguments& arguments, const Plan& plan) {
    if (arguments.output.empty()) {
        say_json(to_json(plan));
        return 0;
    }
    std::error_code ignored;
    if (std::filesystem::equivalent(arguments.output, arguments.config, ignored)) {
        return bad_input("{} is the config itself: name another file for the plan", arguments.output);
    }
    PLIMSOLL_CHECK(save_plan(arguments.output, plan));
    return 0;
}

/// The plan of a config.json, with the keys that it has no field for.
Result<int> write_plan_of(const ImportArguments& arguments, const ImportedModel& imported) {
    Plan plan = starting_plan(imported.model);
    keep_config_keys(plan, imported.config);
    PLIMSOLL_CHECK(require_possible(plan));
    auto written = write_plan(arguments, plan);
    if (!written) return written;
    for (const std::string& each : imported.notes()) note(each);
    if (const std::string dtype = dtype_note(imported.config, plan); !dtype.empty()) note(dtype);
    return written;
}

Result<int> import_hf(const ImportArguments& arguments) {
    PLIMSOLL_TRY(const auto imported, import_hf_config(arguments.config));
    return write_plan_of(arguments, imported);
}

Result<int> import_gguf(const ImportArguments& arguments) {
    PLIMSOLL_TRY(const auto file, read_gguf(arguments.config));
    PLIMSOLL_TRY(const auto made, model_from_gguf(file, arguments.config));
    Plan plan = starting_plan(made.model);
    keep_config_keys(plan, made.config);
    PLIMSOLL_CHECK(require_possible(plan));
    auto written = write_plan(arguments, plan);
    if (!written) return written;
    for (const std::string& each : made.notes) note(each);
    return written;
}

/// A plan that goes on training the adapter in the folder, with the model's folder; with --merge also the merged model.
Result<int> import_peft(const ImportArguments& arguments) {
    const std::filesystem::path folder = arguments.config;
    PLIMSOLL_TRY(const auto read, read_peft_adapter(folder));
    const std::filesystem::path base = arguments.model_folder.empty() ? read.base : arguments.model_folder;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(base / "config.json", ignored)) {
        return bad_input(
            "{} was trained on \"{}\", and there is no folder of that name with a config.json; name the "
            "model's folder with --base",
            folder.string(), base.string());
    }
    PLIMSOLL_TRY(const auto imported, import_hf_config(base / "config.json"));
    Plan plan = starting_plan(imported.model);
    for (const std::string& each : imported.notes()) note(each);
    for (const KeyFinding& each : read.findings) note(each.sentence);
    plan.model.weights = std::filesystem::absolute(base).lexically_normal().string();
    plan.adapter = read.adapter;
    plan.adapter.weights = std::filesystem::absolute(folder).lexically_normal().string();
    keep_config_keys(plan, imported.config);
    keep_adapter_keys(plan, read.config);
    PLIMSOLL_CHECK(require_possible(plan));
    if (arguments.merge.empty()) return write_plan(arguments, plan);
    if (!arguments.output.empty()) {
        if (auto written = write_plan(arguments, plan); !written) return written;
    }
    PLIMSOLL_CHECK(merge_adapter(plan, folder, arguments.merge));
    say(fmt::format("{} with the adapter of {} is in {}; read it with AutoModelForCausalLM.from_pretrained(\"{}\")\n",
                    base.string(), folder.string(), arguments.merge, arguments.merge));
    return 0;
}

std::string counts_report(const DtypeCounts& counts) {
    std::string text;
    const auto line = [&](const DtypeCount& each, std::string_view name) {
        text += fmt::format(
            "  {} {} tensors {} parameters {}\n", fitted(name, 8), fitted(format_count(each.tensors), 10, true),
            fitted(format_count(each.parameters), 20, true), fitted(format_bytes(each.bytes), 10, true));
    };
    for (const DtypeCount& each : counts.dtypes) line(each, each.dtype);
    line(counts.total, "all");
    return text;
}

/// A tied head may be stored or not: both counts match the model.
std::string compared(const DtypeCounts& counts, const Model& model) {
    const ParameterCounts planned = count_parameters(model);
    if (counts.total.parameters == planned.total) return "as many parameters as the model of config.json";
    if (model.tied_head && counts.total.parameters == planned.total + planned.input_embedding)
        return "as many parameters as the model of config.json, whose tied head is stored as well";
    return fmt::format("the model of config.json has {} parameters, the files {}", format_count(planned.total),
                       format_count(counts.total.parameters));
}

/// Prints the counts (`report`, or `json` with --json), beside those of the model in `config`, and writes the model's
/// plan to -o.
Result<int> report_counts(const ImportArguments& arguments, const DtypeCounts& counts,
                          const std::filesystem::path& config, const std::string& report, const Json& json) {
    const bool wanted = !arguments.output.empty();
    if (wanted && config.empty())
        return bad_input("there is no config.json beside {}: the tensors alone say no model", arguments.config);
    const auto model = config.empty() ? Result<ImportedModel>(bad_input("no config.json")) : import_hf_config(config);
    if (wanted && !model) return tl::unexpected(model.error());
    if (wanted) {
        std::error_code ignored;
        if (std::filesystem::equivalent(arguments.output, config, ignored))
            return bad_input("{} is the config itself: name another file for the plan", arguments.output);
        if (auto written = write_plan_of(arguments, *model); !written) return written;
    }
    if (arguments.json)
        say_json(json);
    else
        say(report);
    if (model) note(compared(counts, model->model));
    if (model && !wanted) {
        for (const std::string& each : model->notes()) note(each);
    }
    if (!model && !config.empty()) note(model.error().message);
    return 0;
}

Result<int> import_safetensors(const ImportArguments& arguments) {
    PLIMSOLL_TRY(const auto counts, count_safetensors(arguments.config));
    return report_counts(arguments, counts, counts.config, counts_report(counts), to_json(counts));
}

std::string checkpoint_report(const CheckpointCounts& counts) {
    std::string text = fmt::format("{}: {}, {} file{}\n", printable(counts.place.string()), counts.kind, counts.files,
                                   counts.files == 1 ? "" : "s");
    text += counts_report(counts);
    if (counts.step) text += fmt::format("  step {}\n", format_count(*counts.step));
    if (!counts.states.empty())
        text += fmt::format("  optimizer states: {}\n", printable(fmt::format("{}", fmt::join(counts.states, ", "))));
    return text;
}

Result<int> import_checkpoint(const ImportArguments& arguments) {
    PLIMSOLL_TRY(const auto counts, count_checkpoint(arguments.config));
    const auto written = report_counts(arguments, counts, counts.config, checkpoint_report(counts), to_json(counts));
    if (written && counts.kind != "safetensors") {
        note(fmt::format(
            "a run starts from these weights with --set model.weights={}; the optimizer's states are not taken",
            arguments.config));
    }
    return written;
}

Result<int> import_from_deepspeed(ImportArguments& arguments) {
    PLIMSOLL_TRY(const auto text, read_file(arguments.config, 4 * MiB));
    PLIMSOLL_TRY(const auto file, parse_relaxed_json(text, arguments.config));
    PLIMSOLL_TRY(const auto base, arguments.base.load());
    PLIMSOLL_TRY(const auto imported, import_deepspeed(file.json, base, arguments.config));
    PLIMSOLL_CHECK(require_possible(imported.plan));
    for (const std::string& each : imported.notes) note(each);
    return write_plan(arguments, imported.plan);
}

void add_output(CLI::App& command, ImportArguments& arguments) {
    command.add_option("-o,--output", arguments.output, "Plan file to write; standard output without it")
        ->type_name("PLAN");
}

/// A running process's configuration: a worker's plan unchanged, or DeepSpeed's file on top of the base.
Result<int> import_process(ImportArguments& arguments) {
    std::int64_t pid = 0;
    const char* const end = arguments.config.data() + arguments.config.size();
    if (std::from_chars(arguments.config.data(), end, pid).ptr != end) {
        return bad_input("PID is \"{}\"; give the number of a process", arguments.config);
    }
    PLIMSOLL_TRY(const auto found, find_process_config(pid));
    note(fmt::format("process {} runs with {}", pid, found.path.string()));
    if (found.kind == ProcessConfig::Kind::Plimsoll) {
        PLIMSOLL_TRY(const auto plan, load_plan(found.path));
        return write_plan(arguments, plan.plan);
    }
    if (found.world_size) note(fmt::format("it is one of {} ranks (WORLD_SIZE)", *found.world_size));
    arguments.config = found.path.string();
    return import_from_deepspeed(arguments);
}

}  // namespace

void add_import(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "import", "Make a plan from another tool's file");
    command->require_subcommand(1);
    CLI::App* hf = add_command(
        *command, "hf",
        "A Hugging Face config.json (gpt2, llama, mistral, mixtral, qwen2), on hardware that it fits on; keys "
        "that the plan does not follow are named");
    const auto arguments = std::make_shared<ImportArguments>();
    hf->add_option("CONFIG", arguments->config, "The config.json")->required();
    add_output(*hf, *arguments);
    hf->callback([arguments, &work] { work = [arguments] { return import_hf(*arguments); }; });

    CLI::App* gguf = add_command(*command, "gguf",
                                 "A GGUF file's metadata (llama, mistral, mixtral, qwen2, gpt2), on hardware that "
                                 "the model fits on; its parameters are counted without loading them");
    const auto gguf_file = std::make_shared<ImportArguments>();
    gguf->add_option("FILE", gguf_file->config, "The .gguf file")->required();
    add_output(*gguf, *gguf_file);
    gguf->callback([gguf_file, &work] { work = [gguf_file] { return import_gguf(*gguf_file); }; });

    CLI::App* safetensors =
        add_command(*command, "safetensors",
                    "Parameters of safetensors files by dtype, from their headers, beside those of the config.json "
                    "that lies with them; with -o also its plan");
    const auto weights = std::make_shared<ImportArguments>();
    safetensors->add_option("FILE_OR_FOLDER", weights->config, "A .safetensors file, or the model's folder")
        ->required();
    safetensors->add_option("-o,--output", weights->output, "Plan file to write")->type_name("PLAN");
    safetensors->add_flag("--json", weights->json, "As JSON");
    safetensors->callback([weights, &work] { work = [weights] { return import_safetensors(*weights); }; });

    CLI::App* peft = add_command(*command, "peft",
                                 "A PEFT LoRA adapter with its model, as a plan that goes on training it; with --merge "
                                 "the two as one model");
    const auto adapter = std::make_shared<ImportArguments>();
    peft->add_option("FOLDER", adapter->config, "The folder with adapter_config.json")->required();
    peft->add_option("--base", adapter->model_folder,
                     "The model's folder; without it the one that adapter_config.json names")
        ->type_name("DIR");
    peft->add_option("--merge", adapter->merge, "Folder to make for the model with the adapter added to its weights")
        ->type_name("DIR");
    add_output(*peft, *adapter);
    peft->callback([adapter, &work] { work = [adapter] { return import_peft(*adapter); }; });

    CLI::App* checkpoint = add_command(
        *command, "checkpoint",
        "What a checkpoint of PyTorch (torch.save, torch.distributed.checkpoint) or DeepSpeed (ZeRO, "
        "universal) holds: kind, parameters by dtype, step, optimizer states, without loading them; with -o "
        "also the plan of the config.json that lies with it. A run starts from it by model.weights");
    const auto stored = std::make_shared<ImportArguments>();
    checkpoint->add_option("FILE_OR_FOLDER", stored->config, "The checkpoint")->required();
    checkpoint->add_option("-o,--output", stored->output, "Plan file to write")->type_name("PLAN");
    checkpoint->add_flag("--json", stored->json, "As JSON");
    checkpoint->callback([stored, &work] { work = [stored] { return import_checkpoint(*stored); }; });

    CLI::App* deepspeed = add_command(
        *command, "deepspeed",
        "A DeepSpeed config, on top of a plan that gives the model and the hardware: \"auto\" keeps the "
        "plan's value, a key that is left out is DeepSpeed's default, and keys that a plan has not are kept "
        "for the export");
    const auto from = std::make_shared<ImportArguments>();
    deepspeed->add_option("CONFIG", from->config, "The DeepSpeed JSON")->required();
    from->base.add_to(*deepspeed);
    add_output(*deepspeed, *from);
    deepspeed->callback([from, &work] { work = [from] { return import_from_deepspeed(*from); }; });

    CLI::App* process = add_command(*command, "process",
                                    "What a running process was started with: the config of a DeepSpeed script, or the "
                                    "plan of a plimsoll-worker");
    const auto of_process = std::make_shared<ImportArguments>();
    process->add_option("PID", of_process->config, "Number of the process")->required();
    of_process->base.add_to(*process);
    add_output(*process, *of_process);
    process->callback([of_process, &work] { work = [of_process] { return import_process(*of_process); }; });
}

}  // namespace plimsoll::cli
