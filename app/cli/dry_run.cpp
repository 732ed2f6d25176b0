// SPDX-License-Identifier: Apache-2.0
// plimsoll dry-run: a training step of any rank without its memory, allocation by allocation.
#include "core/base/json.h"
#include "core/run/processes/dry_run_process.h"

#include <charconv>
#include <optional>

#include "app/cli/reports/dry_run_text.h"
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/hardware_arguments.h"
#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/allocator/allocator_settings.h"
#include "core/estimate/estimate.h"

namespace plimsoll::cli {

namespace {

struct DryRunArguments {
    PlanArguments plan;
    std::string gpu, rank = "0";
    std::string timeline, trace;
    std::string allocator_settings;
    bool json = false;
    bool all_micro_batches = false;
    bool check = false;
};

std::int64_t ranks_a_stage(const Plan& plan) { return plan.layout.world_size() / plan.layout.pp; }

/// One rank, or with "all" the first rank of each pipeline stage, which stands for the others of the stage.
Result<std::vector<int>> ranks_of(const Plan& plan, const std::string& text) {
    const std::int64_t world = plan.layout.world_size();
    std::vector<int> ranks;
    if (text == "all") {
        for (std::int64_t stage = 0; stage < plan.layout.pp; ++stage) {
            ranks.push_back(static_cast<int>(stage * ranks_a_stage(plan)));
        }
        return ranks;
    }
    int rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc() || end != text.data() + text.size() || rank < 0 || rank >= world) {
        return bad_input("--rank is a number from 0 to {} or \"all\" (one of each pipeline stage), not \"{}\"",
                         world - 1, text);
    }
    return std::vector<int>{rank};
}

/// Usable memory of the card less the memory outside PyTorch's allocator: the CUDA context and NCCL, by the closed
/// form.
Result<Bytes> for_tensors(const Plan& plan) {
    if (plan.cluster.on_cpu()) return Bytes{0};
    PLIMSOLL_TRY(const auto estimate, estimate_memory(plan));
    Bytes bytes = estimate.usable;
    for (const char* key : {"cuda_context", "nccl"}) {
        if (const Term* term = estimate.fullest().find(key)) bytes -= term->bytes;
    }
    return std::max<Bytes>(bytes, 1);
}

/// The closed form beside what the dry run counted. On CPU ranks nothing is reserved.
Result<void> add_estimate(Json& rank, const Plan& plan) {
    if (plan.cluster.on_cpu()) return {};
    PLIMSOLL_TRY(const auto estimate, estimate_memory(plan));
    const auto& stage = estimate.stages.at(rank.at("stage").get<std::size_t>());
    rank["estimate"] = {{"live", stage.live()}, {"reserved", stage.reserved()}, {"total", stage.total()}};
    return {};
}

Result<int> dry_run(DryRunArguments& arguments) {
    PLIMSOLL_TRY(const auto plan,
                 arguments.plan.load([&](Plan read) { return on_hardware(std::move(read), arguments.gpu); }));
    PLIMSOLL_CHECK(parse_allocator_settings(arguments.allocator_settings));
    PLIMSOLL_TRY(const auto ranks, ranks_of(plan, arguments.rank));
    PLIMSOLL_TRY(const auto capacity, for_tensors(plan));
    DryRunRequest request;
    request.ranks = ranks;
    request.allocator_settings = arguments.allocator_settings;
    request.capacity = capacity;
    request.timeline = arguments.timeline;
    request.trace = arguments.trace;
    request.all_micro_batches = arguments.all_micro_batches;
    PLIMSOLL_TRY(auto figures, run_dry(plan, request));
    for (Json& rank : figures.at("ranks")) {
        rank["stage"] = rank.at("rank").get<std::int64_t>() / ranks_a_stage(plan);
        rank["stage_ranks"] = ranks_a_stage(plan);
        PLIMSOLL_CHECK(add_estimate(rank, plan));
    }
    if (arguments.json)
        say_json(figures);
    else
        say(dry_run_report(figures));
    const Json& each = figures.at("ranks");
    const bool fits = std::all_of(each.begin(), each.end(),
                                  [](const Json& rank) { return rank.at("out_of_memory").get<std::string>().empty(); });
    return arguments.check && !fits ? 1 : 0;
}

}  // namespace

void add_dry_run(CLI::App& app, Work& work) {
    CLI::App* command = add_command(
        app, "dry-run", "The engine's own training step without its memory: what each allocation of a rank would be");
    const auto arguments = std::make_shared<DryRunArguments>();
    arguments->plan.add_to(*command);
    command->add_option("--rank", arguments->rank, "A rank, or all: one of each pipeline stage")
        ->type_name("R")
        ->capture_default_str();
    command->add_option("--gpu", arguments->gpu, "GPU of the catalogue (\"A100 SXM4 80GB\", h100), or cpu")
        ->type_name("NAME");
    command
        ->add_option("--allocator-settings", arguments->allocator_settings,
                     "As PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True,max_split_size_mb:128,"
                     "garbage_collection_threshold:0.8,roundup_power2_divisions:8")
        ->type_name("NAME:VALUE,…");
    command->add_option("--timeline", arguments->timeline, "Write the memory over time of the first rank as JSON")
        ->type_name("FILE");
    command->add_option("--trace", arguments->trace, "Write each allocation and free of its step, one a line")
        ->type_name("FILE");
    command->add_flag("--all-micro-batches", arguments->all_micro_batches,
                      "Go through all of them, also where the rest only repeats what some showed");
    command->add_flag("--check", arguments->check, "Exit code 1 when a rank runs out of memory, for scripts");
    command->add_flag("--json", arguments->json, "JSON: peaks, categories and live tensors at the peak, in bytes");
    command->callback([arguments, &work] { work = [arguments] { return dry_run(*arguments); }; });
}

}  // namespace plimsoll::cli
