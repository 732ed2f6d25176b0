// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's pretrain_gpt.py (main, 2026-08): unknown and shortened options are errors there.
#include "core/interop/exports/megatron_parts.h"

namespace plimsoll::exports {

namespace {

/// Asserted with tensor or context parallelism before Blackwell, and refused by Megatron-FSDP (arguments.py:1167, 1486).
std::string connections(const Plan& plan, Notes& notes) {
    const Layout& layout = plan.layout;
    if (layout.tp == 1 && layout.cp == 1) return "";
    if (layout.zero_stage < 2) return "CUDA_DEVICE_MAX_CONNECTIONS=1";
    notes.push_back(
        "Leave CUDA_DEVICE_MAX_CONNECTIONS unset: Megatron-FSDP refuses 1, which tensor and context "
        "parallelism run best with.");
    return "";
}

}  // namespace

Result<Program> megatron_program(const Plan& plan) {
    PLIMSOLL_CHECK(megatron_lm::require_accepted(plan));
    Program program{CommandLine("pretrain_gpt.py"), "", {}};
    Notes& notes = program.notes;
    megatron_lm::model(program.line, plan, notes);
    megatron_lm::layout(program.line, plan, notes);
    megatron_lm::recipe(program.line, plan, notes);
    megatron_lm::data_and_files(program.line, plan, notes);
    program.environment = connections(plan, notes);
    if (plan.cluster.on_cpu()) notes.push_back("Megatron-LM needs CUDA GPUs, and cluster.gpu is cpu.");
    note_rest(plan, megatron_lm::title, notes);
    return program;
}

Result<ExportedText> megatron(const Plan& plan) {
    PLIMSOLL_TRY(const auto program, megatron_program(plan));
    const Cluster& cluster = plan.cluster;
    CommandLine line(
        fmt::format("{}torchrun --nnodes={} --nproc-per-node={}{}",
                    program.environment.empty() ? "" : program.environment + " ", cluster.nodes, cluster.gpus_per_node,
                    cluster.nodes > 1 ? " --rdzv-backend=c10d --rdzv-endpoint=\"$MASTER_ADDR:29500\"" : ""));
    line.command(program.line);
    return ExportedText{line.text(), program.notes};
}

}  // namespace plimsoll::exports
