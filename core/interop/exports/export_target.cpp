// SPDX-License-Identifier: Apache-2.0
#include "core/interop/exports/export_target.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/exports/export_parts.h"
#include "core/interop/exports/fit_note.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

namespace {

Result<ExportedText> deepspeed_json(const Plan& plan) {
    auto exported = export_deepspeed(plan);
    if (!exported) return tl::unexpected(exported.error());
    return ExportedText{exports::to_json_text(exported->json), std::move(exported->notes)};
}

struct Writer {
    ExportTarget target;
    Result<ExportedText> (*write)(const Plan& plan) = nullptr;
    Result<ExportedText> (*launch)(const Plan& plan, exports::Program program) = nullptr;  ///< launchers alone
};

const std::vector<Writer>& writers() {
    static const std::vector<Writer> all{
        {{"deepspeed", "DeepSpeed", "ds.json", "DeepSpeed's JSON config"}, deepspeed_json},
        {{"accelerate", "Accelerate (DeepSpeed)", "accelerate.yaml", "accelerate launch --config_file, with DeepSpeed"},
         exports::accelerate_deepspeed},
        {{"accelerate-fsdp", "Accelerate (FSDP)", "accelerate_fsdp.yaml",
          "accelerate launch --config_file, with FSDP2"},
         exports::accelerate_fsdp},
        {{"transformers", "Hugging Face Trainer", "training_arguments.json", "TrainingArguments as JSON"},
         exports::training_arguments_file},
        {{"megatron", "Megatron-LM", "megatron.sh", "pretrain_gpt.py with its arguments"}, exports::megatron},
        {{"torchtitan", "torchtitan 0.2", "torchtitan.toml", "--job.config_file of torchtitan 0.2"},
         exports::torchtitan_toml},
        {{"torchtitan-0.3", "torchtitan 0.3", "torchtitan.sh", "the command line of torchtitan 0.3"},
         exports::torchtitan_command},
        {{"llama-factory", "LLaMA-Factory", "llama_factory.yaml", "llamafactory-cli train"}, exports::llama_factory},
        {{"axolotl", "Axolotl", "axolotl.yaml", "axolotl train"}, exports::axolotl},
        {{"torchrun", "torchrun", "torchrun.sh", "PyTorch's launcher"}, nullptr, exports::torchrun},
        {{"deepspeed-launcher", "deepspeed launcher", "deepspeed.sh", "DeepSpeed's launcher"},
         exports::deepspeed_launcher},
        {{"mpirun", "mpirun", "mpirun.sh", "Open MPI's launcher"}, nullptr, exports::mpirun},
        {{"srun", "srun", "srun.sh", "a step of a Slurm job"}, nullptr, exports::srun},
        {{"sbatch", "sbatch", "job.sbatch", "a Slurm batch script"}, nullptr, exports::sbatch},
        {{"env", "Environment", "nccl.env", "NAME=VALUE lines for NCCL and PyTorch"}, exports::environment},
        {{"pytorchjob", "Kubernetes PyTorchJob", "pytorchjob.yaml", "Kubeflow's training operator"},
         nullptr,
         exports::pytorch_job},
        {{"jobset", "Kubernetes JobSet", "jobset.yaml", "jobset.x-k8s.io"}, nullptr, exports::job_set},
    };
    return all;
}

Result<Writer> find_writer(std::string_view name) {
    const std::vector<Writer>& all = writers();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Writer& each) { return each.target.name == name; });
    if (found != all.end()) return *found;
    std::vector<std::string> names;
    for (const Writer& each : all) names.emplace_back(each.target.name);
    return bad_input("there is no export to {}{}; there are {}", shown(Json(std::string(name))),
                     did_you_mean(name, names), fmt::join(names, ", "));
}

Result<ExportedText> launched(const Writer& writer, const Plan& plan, std::string_view name) {
    PLIMSOLL_TRY(auto program, exports::program_of(plan, name));
    return writer.launch(plan, std::move(program));
}

}  // namespace

const std::vector<ExportTarget>& export_targets() {
    static const std::vector<ExportTarget> targets = [] {
        std::vector<ExportTarget> list;
        for (const Writer& each : writers()) list.push_back(each.target);
        return list;
    }();
    return targets;
}

Result<ExportTarget> export_target(std::string_view name) {
    PLIMSOLL_TRY(const auto writer, find_writer(name));
    return writer.target;
}

bool starts_program(std::string_view target) {
    const auto writer = find_writer(target);
    return writer && writer->launch != nullptr;
}

Result<ExportedText> export_plan(const Plan& plan, std::string_view target, std::string_view program) {
    PLIMSOLL_TRY(const auto writer, find_writer(target));
    PLIMSOLL_CHECK(require_possible(plan));
    if (writer.launch == nullptr && !program.empty()) {
        return bad_input("{} is no launcher, so it starts no program: leave \"{}\" out", writer.target.title, program);
    }
    auto exported = writer.launch == nullptr ? writer.write(plan) : launched(writer, plan, program);
    if (!exported) return exported;
    if (const auto framework = exports::framework_of(plan, program.empty() ? target : program)) {
        if (auto note = exports::fit_note(plan, *framework))
            exported->notes.insert(exported->notes.begin(), *std::move(note));
    }
    return exported;
}

}  // namespace plimsoll
