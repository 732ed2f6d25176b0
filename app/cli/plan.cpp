// SPDX-License-Identifier: Apache-2.0
// plimsoll plan: the best layouts of a model on a cluster.
#include <atomic>
#include <optional>

#include "app/cli/plan_choices.h"
#include "app/cli/reports/plan_report.h"
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/numbers.h"
#include "app/cli/terminal/terminal.h"
#include "core/plan/gpu.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "core/planner/planner.h"
#include "core/planner/planner_json.h"

namespace plimsoll::cli {

namespace {

struct SearchArguments {
    std::string model;
    std::string gpu, objective = "time", framework = "plimsoll";
    std::int64_t gpus = 0, nodes = 0, global_batch = 0, sequence = 0;
    std::vector<std::string> more, settings;
    double tokens = 0, price = 0, headroom = 0, internode = 0, fit = 100 * default_fit_probability, host = 0;
    ChoiceTexts choices;
    std::size_t show = 10;
    int threads = 0;
    bool json = false, fewer = false;
    std::string output;
};

/// "A100 SXM4 80GB:8" or "A100 SXM4 80GB:8x4": GPUs per node x nodes.
Result<Cluster> cluster_of(const std::string& text, const Cluster& like) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos)
        return bad_input("--and \"{}\" needs a number of GPUs: NAME:GPUS, or NAME:GPUSxNODES", text);
    Cluster cluster = like;
    PLIMSOLL_TRY(const auto gpu, find_gpu(text.substr(0, colon)));
    cluster.gpu = gpu.name;
    cluster.usable_gib = 0;
    PLIMSOLL_TRY(const auto numbers, whole_numbers(text.substr(colon + 1), 'x', "--and"));
    if (numbers.empty() || numbers.size() > 2)
        return bad_input("--and \"{}\" needs a number of GPUs: NAME:GPUS, or NAME:GPUSxNODES", text);
    cluster.gpus_per_node = numbers.front();
    cluster.nodes = numbers.size() == 2 ? numbers.back() : 1;
    return cluster;
}

Result<PlanRequest> request_of(const SearchArguments& a) {
    PLIMSOLL_TRY(const auto loaded, plan_from_argument(a.model));
    PLIMSOLL_TRY(auto with, with_settings(loaded.plan, a.settings));
    PlanRequest request;
    request.plan = std::move(with);
    auto& cluster = request.plan.cluster;
    if (!a.gpu.empty() && a.gpu != cluster.gpu) {
        cluster.usable_gib = 0;
        cluster.gpu = a.gpu;
        if (a.gpu != "cpu") {
            PLIMSOLL_TRY(const auto gpu, find_gpu(a.gpu));
            cluster.gpu = gpu.name;
            if (request.plan.numerics.dtype == Dtype::Bf16 && gpu.bf16_tflops <= 0)
                request.plan.numerics.dtype = Dtype::Fp16;
        }
    }
    if (a.internode > 0) cluster.internode_gbs = a.internode;
    // --gpus counts all GPUs; nodes of 8 unless --nodes says otherwise.
    if (a.gpus > 0 || a.nodes > 0) {
        const auto gpus = a.gpus > 0 ? a.gpus : a.nodes * cluster.gpus_per_node;
        const auto nodes = a.nodes > 0 ? a.nodes : gpus > 8 && gpus % 8 == 0 ? gpus / 8 : 1;
        if (gpus % nodes != 0)
            return bad_input("{} GPUs cannot be dealt over {} nodes evenly; take {} or {} GPUs", gpus, nodes,
                             std::max(nodes, gpus / nodes * nodes), (gpus / nodes + 1) * nodes);
        cluster.gpus_per_node = gpus / nodes;
        cluster.nodes = nodes;
    }
    if (a.sequence > 0) {
        request.plan.data.sequence_length = a.sequence;
        if (request.plan.model.position != Position::Learned)
            request.plan.model.max_position = std::max(request.plan.model.max_position, a.sequence);
    }
    for (const auto& text : a.more) {
        PLIMSOLL_TRY(auto other, cluster_of(text, cluster));
        request.more.push_back(std::move(other));
    }
    request.global_batch = a.global_batch;
    // A model preset has no batch: take enough sequences for every GPU, 128 at least.
    const auto& models = model_preset_names();
    if (a.global_batch == 0 && std::find(models.begin(), models.end(), a.model) != models.end())
        request.global_batch = std::max<std::int64_t>(128, cluster.world_size());
    const auto objective = std::find(objective_names.begin(), objective_names.end(), a.objective);
    request.objective = static_cast<Objective>(objective - objective_names.begin());
    PLIMSOLL_TRY(auto choices, read_choices(a.choices));
    request.choices = std::move(choices);
    request.framework = *find_framework(a.framework);
    if (a.fit > 0 && a.fit < 1)
        return bad_input("--fit-probability {:g} is less than one per cent; write {:g} for {:g} %", a.fit, 100 * a.fit,
                         100 * a.fit);
    request.fit_probability = a.fit / 100;
    request.host_memory = static_cast<Bytes>(a.host * static_cast<double>(GiB));
    request.fewer_gpus = a.fewer;
    request.headroom = a.headroom / 100;
    request.tokens = a.tokens;
    request.price_per_gpu_hour = a.price;
    request.keep = a.show;
    request.threads = a.threads;
    return request;
}

/// The exit code where no layout fits.
constexpr int no_layout = 1;

Result<int> plan_model(const SearchArguments& arguments) {
    PLIMSOLL_TRY(const auto request, request_of(arguments));
    PLIMSOLL_TRY(const auto result, plan_layouts(request));
    const bool found = !result.ranked.empty();
    if (found && !arguments.output.empty())
        PLIMSOLL_CHECK(save_plan(arguments.output, plan_of(request, result.ranked.front())));
    if (arguments.json)
        say_json(to_json(request, result));
    else
        say(plan_report(request, result, arguments.show));
    if (found) return 0;
    warn(fmt::format("no layout fits: {}{}", result.binding,
                     arguments.output.empty() ? "" : fmt::format("; {} is not written", arguments.output)));
    return no_layout;
}

}  // namespace

void add_plan(CLI::App& app, Work& work) {
    CLI::App* command = add_command(
        app, "plan",
        "The best layouts of a model on a cluster: dp x tp x sp x cp x pp x chunks x ep x ZeRO x micro-batch x "
        "schedule x recomputation x offload, every one evaluated or ruled out by a bound");
    const auto a = std::make_shared<SearchArguments>();
    command->add_option("MODEL", a->model, "A model preset (llama-3-8b), a plan preset or a plan file")->required();
    command->add_option("--gpu", a->gpu,
                        "GPU by name (H100, \"A100 80GB\"); else the plan's (a model preset has an 80 GB one)");
    command->add_option("--gpus", a->gpus, "GPUs in all; nodes of 8 unless --nodes says otherwise")->transform(count());
    command->add_option("--nodes", a->nodes, "Nodes that the GPUs are dealt over")->transform(count());
    command->add_option("--and", a->more, "Further GPUs of another kind: NAME:GPUS or NAME:GPUSxNODES");
    command->add_option("--internode-gbs", a->internode, "GB/s a GPU between nodes (400 Gb/s InfiniBand: 50)")
        ->check(above_zero());
    command
        ->add_option("--global-batch", a->global_batch,
                     "Sequences a step; else the plan's, or for a model preset 128 or as many as GPUs")
        ->transform(count());
    command->add_option("--seq", a->sequence, "Tokens a sequence")->transform(count());
    command->add_option("--objective", a->objective, "What comes first")
        ->capture_default_str()
        ->check(CLI::IsMember(std::vector<std::string>(objective_names.begin(), objective_names.end())));
    command->add_flag("--fewer", a->fewer, "Also layouts on fewer GPUs (fewest-gpus and cost always look at them)");
    command->add_option("--tokens", a->tokens, "Budget of tokens: time, GPU-hours and price for it (1e12)")
        ->check(above_zero());
    command->add_option("--price", a->price, "Price of a GPU-hour")->check(above_zero());
    command
        ->add_option("--framework", a->framework,
                     "Framework that trains it: its memory and what it cannot train decide what fits")
        ->type_name("NAME")
        ->capture_default_str()
        ->check(CLI::IsMember(std::vector<std::string>(framework_names.begin(), framework_names.end())));
    command
        ->add_option(
            "--fit-probability", a->fit,
            "Least chance, in per cent, that a layout does not run out of memory; 0: its estimate alone counts")
        ->type_name("PERCENT")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 99.9));
    command->add_option("--host-memory", a->host, "GiB of RAM a machine has for what is offloaded; left out: no limit")
        ->type_name("GIB")
        ->check(CLI::Range(0.001, 1e6));
    command->add_option("--headroom", a->headroom, "Per cent of usable memory to keep free")
        ->check(CLI::Range(0.0, 99.0));
    add_choices(*command, a->choices);
    command->add_option("--set", a->settings, "Settings of the plan: key=value …")->type_name("KEY=VALUE");
    command->add_option("--show", a->show, "Layouts to show")->capture_default_str()->check(CLI::Range(1, 10000));
    command->add_option("--threads", a->threads, "Threads of the search; 0: all cores")->check(CLI::Range(0, 1024));
    command->add_option("-o,--output", a->output, "Write the plan with the best layout to this file");
    command->footer(
        "Exit codes: 0 a layout fits, 1 none does (the reason is on standard error), 2 bad usage or bad input.");
    command->add_flag("--json", a->json, "JSON: ranked layouts, Pareto front, neighbours, counts, recommendations");
    command->callback([a, &work] { work = [a] { return plan_model(*a); }; });
}

}  // namespace plimsoll::cli
