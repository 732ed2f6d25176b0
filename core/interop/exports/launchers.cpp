// SPDX-License-Identifier: Apache-2.0
// Command lines that start one process a rank, and the environment that they need.
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

/// The launcher, with the variables that its program needs.
std::string with_environment(const Program& program, std::string_view launcher) {
    return program.environment.empty() ? std::string(launcher) : fmt::format("{} {}", program.environment, launcher);
}

void add_notes(const Program& program, Notes& notes) {
    notes.insert(notes.end(), program.notes.begin(), program.notes.end());
}

void note_master(const Plan& plan, std::string_view how, Notes& notes) {
    if (plan.cluster.nodes > 1)
        notes.push_back(fmt::format("MASTER_ADDR has to be the first node's address: {}.", how));
}

}  // namespace

Result<ExportedText> torchrun(const Plan& plan, Program program) {
    ExportedText out;
    const Cluster& cluster = plan.cluster;
    CommandLine line(with_environment(program, "torchrun"));
    line.joined("--nnodes", std::to_string(cluster.nodes))
        .joined("--nproc-per-node", std::to_string(cluster.gpus_per_node));
    if (cluster.nodes > 1) {
        line.joined("--rdzv-backend", "c10d")
            .words("--rdzv-endpoint=\"$MASTER_ADDR:29500\"")
            .joined("--rdzv-id", job_name(plan));
    } else {
        line.flag("--standalone");
    }
    line.joined("--max-restarts", "3").command(program.line);
    out.notes.push_back(
        "For a number of nodes that may change write --nnodes=MIN:MAX: every change restarts all ranks from the last checkpoint.");
    note_master(plan, "the same on every node", out.notes);
    add_notes(program, out.notes);
    out.text = line.text();
    return out;
}

Result<ExportedText> deepspeed_launcher(const Plan& plan) {
    ExportedText out;
    const Cluster& cluster = plan.cluster;
    CommandLine line("deepspeed");
    if (cluster.nodes > 1) {
        line.option("--hostfile", "hostfile").option("--num_nodes", cluster.nodes);
        out.notes.push_back(fmt::format("hostfile has a line \"NODE slots={}\" for each of the {} nodes.",
                                        cluster.gpus_per_node, cluster.nodes));
    }
    line.option("--num_gpus", cluster.gpus_per_node)
        .option("--master_port", std::int64_t{29500})
        .words("train.py")
        .flag("--deepspeed")
        .option("--deepspeed_config", "ds.json");
    out.notes.push_back("ds.json is what `plimsoll export deepspeed` writes.");
    out.notes.push_back(script_note(plan));
    out.text = line.text();
    return out;
}

Result<ExportedText> mpirun(const Plan& plan, Program program) {
    ExportedText out;
    const Cluster& cluster = plan.cluster;
    CommandLine line("mpirun");
    line.option("-np", cluster.world_size())
        .words(fmt::format("--map-by ppr:{}:node", cluster.gpus_per_node))
        .words("--bind-to none")
        .words("-x MASTER_ADDR -x MASTER_PORT");
    if (!program.environment.empty()) line.words("-x " + program.environment);
    if (cluster.nodes > 1) line.option("--hostfile", "hostfile");
    line.words("python").command(program.line);
    out.notes.push_back(
        "Open MPI names ranks OMPI_COMM_WORLD_RANK: torch needs RANK, LOCAL_RANK and WORLD_SIZE, which the script sets "
        "from it (deepspeed.init_distributed does so by itself).");
    note_master(plan, "export it, with MASTER_PORT, before", out.notes);
    add_notes(program, out.notes);
    out.text = line.text();
    return out;
}

Result<ExportedText> srun(const Plan& plan, Program program) {
    ExportedText out;
    const Cluster& cluster = plan.cluster;
    CommandLine line(with_environment(program, "srun"));
    line.joined("--nodes", std::to_string(cluster.nodes))
        .joined("--ntasks-per-node", std::to_string(cluster.gpus_per_node))
        .joined("--cpus-per-task", std::to_string(cpus_per_rank(plan)));
    if (!plan.cluster.on_cpu()) line.joined("--gpus-per-node", std::to_string(cluster.gpus_per_node));
    line.words("python").command(program.line);
    out.notes.push_back(
        "Slurm names ranks SLURM_PROCID, SLURM_LOCALID and SLURM_NTASKS: plimsoll-worker reads them, torch needs RANK, "
        "LOCAL_RANK and WORLD_SIZE from the script.");
    note_master(plan, "scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1", out.notes);
    add_notes(program, out.notes);
    out.text = line.text();
    return out;
}

Result<ExportedText> sbatch(const Plan& plan, Program program) {
    ExportedText out;
    const Cluster& cluster = plan.cluster;
    const std::string name = job_name(plan);
    std::string text = fmt::format(
        "#!/bin/bash\n"
        "#SBATCH --job-name={}\n"
        "#SBATCH --nodes={}\n"
        "#SBATCH --ntasks-per-node=1\n"
        "{}#SBATCH --cpus-per-task={}\n"
        "#SBATCH --mem=0\n"
        "#SBATCH --time=24:00:00\n"
        "#SBATCH --output={}-%j.out\n"
        "#SBATCH --exclusive\n"
        "#SBATCH --requeue\n"
        "#SBATCH --signal=B:USR1@120\n\n",
        name, cluster.nodes,
        plan.cluster.on_cpu() ? "" : fmt::format("#SBATCH --gpus-per-node={}\n", cluster.gpus_per_node),
        cpus_per_rank(plan) * cluster.gpus_per_node, name);
    text += "set -euo pipefail\n";
    text += "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n";
    text += "export MASTER_ADDR\n";
    text += "if [ -f nccl.env ]; then set -a; . ./nccl.env; set +a; fi\n";
    if (!program.environment.empty()) text += fmt::format("export {}\n", program.environment);
    CommandLine line("srun torchrun");
    line.words(fmt::format("--nnodes={} --nproc-per-node={} --max-restarts=3", cluster.nodes, cluster.gpus_per_node))
        .words("--rdzv-backend=c10d --rdzv-endpoint=\"$MASTER_ADDR:29500\" --rdzv-id=\"$SLURM_JOB_ID\"")
        .command(program.line);
    out.text = text + "\n" + line.text();
    out.notes.push_back("The partition, the account and the time are your cluster's: add --partition and --account.");
    out.notes.push_back("nccl.env is what `plimsoll export env` writes.");
    add_notes(program, out.notes);
    return out;
}

Result<ExportedText> environment(const Plan& plan) {
    ExportedText out;
    out.notes.push_back("These lines are NCCL's and PyTorch's: they say nothing else of the plan.");
    if (plan.cluster.nodes > 1) {
        out.notes.push_back(
            "NCCL_SOCKET_IFNAME and NCCL_IB_HCA are the network's: set them where NCCL chooses the wrong interface.");
    }
    std::string text = fmt::format(
        "MASTER_PORT=29500\n"
        "OMP_NUM_THREADS={}\n",
        cpus_per_rank(plan));
    if (plan.cluster.on_cpu()) {
        out.notes.push_back("The ranks are on the CPU and talk by Gloo: NCCL has no part in it.");
        out.text = std::move(text);
        return out;
    }
    text +=
        "NCCL_DEBUG=WARN\n"
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"
        "TORCH_NCCL_DUMP_ON_TIMEOUT=1\n"
        "TORCH_NCCL_TRACE_BUFFER_SIZE=2000\n"
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
    // Megatron-LM requires it with tensor or context parallelism, so that kernels and collectives are launched in
    // order; Megatron's FSDP (ZeRO-2 and 3) refuses it.
    if ((plan.layout.tp > 1 || plan.layout.cp > 1) && plan.layout.zero_stage < 2)
        text += "CUDA_DEVICE_MAX_CONNECTIONS=1\n";
    if (plan.cluster.nodes > 1) text += "NCCL_IB_TIMEOUT=22\n";
    out.text = std::move(text);
    return out;
}

}  // namespace plimsoll::exports
