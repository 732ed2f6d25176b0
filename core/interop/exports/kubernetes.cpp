// SPDX-License-Identifier: Apache-2.0
// Kubernetes: Kubeflow's PyTorchJob (kubeflow.org/v1) and JobSet (jobset.x-k8s.io/v1alpha2).
#include "core/base/json.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

constexpr std::string_view image = "IMAGE";

/// A quantity is a string in Kubernetes' schema, also where it is a whole number.
Json container(const Plan& plan, std::string_view name, Json command) {
    const Cluster& cluster = plan.cluster;
    Json limits{{"cpu", std::to_string(cpus_per_rank(plan) * cluster.gpus_per_node)}};
    if (!plan.cluster.on_cpu()) limits["nvidia.com/gpu"] = std::to_string(cluster.gpus_per_node);
    return {{"name", name},
            {"image", image},
            {"command", std::move(command)},
            {"resources", {{"limits", std::move(limits)}}},
            {"volumeMounts", Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}}})}};
}

/// Data loaders and NCCL need more shared memory than a container has.
Json volumes() { return Json::array({{{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}}}); }

/// In a shell, which splits the words of the program and sets its variable.
Json shell_command(const Program& program, std::string_view launcher) {
    const std::string set = program.environment.empty() ? "" : fmt::format("export {}; ", program.environment);
    return Json::array({"sh", "-c", fmt::format("{}{} {}", set, launcher, program.line.one_line())});
}

void add_job_notes(const Program& program, Notes& notes) {
    notes.push_back("IMAGE is your container image, with the program in it.");
    notes.insert(notes.end(), program.notes.begin(), program.notes.end());
    notes.push_back("The namespace, the queue and the volumes for data and checkpoints are your cluster's.");
}

}  // namespace

Result<ExportedText> pytorch_job(const Plan& plan, Program program) {
    ExportedText out;
    const Cluster& cluster = plan.cluster;
    const auto replica = [&](std::int64_t count) -> Json {
        const Json command = shell_command(program, "torchrun");
        return {
            {"replicas", count},
            {"restartPolicy", "OnFailure"},
            {"template",
             {{"spec", {{"containers", Json::array({container(plan, "pytorch", command)})}, {"volumes", volumes()}}}}}};
    };
    Json specs{{"Master", replica(1)}};
    if (cluster.nodes > 1) specs["Worker"] = replica(cluster.nodes - 1);
    const Json json{{"apiVersion", "kubeflow.org/v1"},
                    {"kind", "PyTorchJob"},
                    {"metadata", {{"name", job_name(plan)}}},
                    {"spec",
                     {{"nprocPerNode", std::to_string(cluster.gpus_per_node)},
                      {"runPolicy", {{"cleanPodPolicy", "None"}, {"backoffLimit", 3}}},
                      {"pytorchReplicaSpecs", std::move(specs)}}}};
    out.notes.push_back("The operator sets MASTER_ADDR, WORLD_SIZE and PET_NPROC_PER_NODE, which torchrun reads.");
    add_job_notes(program, out.notes);
    out.text = to_yaml(json);
    return out;
}

Result<ExportedText> job_set(const Plan& plan, Program program) {
    ExportedText out;
    const Cluster& cluster = plan.cluster;
    const std::string name = job_name(plan);
    const std::string launcher = fmt::format(
        "torchrun --nnodes={} --nproc-per-node={} --node-rank=$JOB_COMPLETION_INDEX --master-addr={}-node-0-0.{} "
        "--master-port=29500",
        cluster.nodes, cluster.gpus_per_node, name, name);
    const Json pod{{"restartPolicy", "Never"},
                   {"subdomain", name},
                   {"containers", Json::array({container(plan, "train", shell_command(program, launcher))})},
                   {"volumes", volumes()}};
    const Json json{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                    {"kind", "JobSet"},
                    {"metadata", {{"name", name}}},
                    {"spec",
                     {{"failurePolicy", {{"maxRestarts", 3}}},
                      {"replicatedJobs", Json::array({{{"name", "node"},
                                                       {"replicas", 1},
                                                       {"template",
                                                        {{"spec",
                                                          {{"parallelism", cluster.nodes},
                                                           {"completions", cluster.nodes},
                                                           {"completionMode", "Indexed"},
                                                           {"backoffLimit", 0},
                                                           {"template", {{"spec", pod}}}}}}}}})}}}};
    add_job_notes(program, out.notes);
    out.text = to_yaml(json);
    return out;
}

}  // namespace plimsoll::exports
