// SPDX-License-Identifier: Apache-2.0
// plimsoll pipeline: the schedule of a plan, simulated, in words, JSON, SVG or as a trace.
#include "core/schedule/plan_pipeline/plan_pipeline.h"

#include "app/cli/reports/pipeline_report.h"
#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file.h"
#include "core/base/nearest.h"
#include "core/schedule/plan_pipeline/advice.h"
#include "core/schedule/plan_pipeline/chrome_trace.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/schedule/plan_pipeline/svg.h"
#include "core/schedule/stage_times.h"

namespace plimsoll::cli {

namespace {

struct PipelineArguments {
    PlanArguments plan;
    std::string schedule;
    std::int64_t stages = 0, micro_batches = 0, chunks = 0;
    std::vector<double> forward, backward_input, backward_weight, send;
    bool json = false;
    std::string svg, trace;
    std::string list, save_list;
};

Result<Schedule> schedule_named(const std::string& name) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k)
        if (schedule_names[k] == name) return static_cast<Schedule>(k);
    const std::vector<std::string> names(schedule_names.begin(), schedule_names.end());
    return bad_input("there is no schedule \"{}\"{}; the schedules are {}", name, did_you_mean(name, names),
                     fmt::join(names, ", "));
}

/// The plan with what-if values; its cluster need not have that many GPUs.
Result<Plan> with_pipeline_options(Plan plan, const PipelineArguments& arguments) {
    if (!arguments.list.empty()) {
        PLIMSOLL_TRY(const auto list, read_schedule(arguments.list));
        plan.layout = laid_out_as(plan.layout, list);
        plan.layout.schedule_file = arguments.list;
    } else if (!arguments.schedule.empty()) {
        plan.layout.schedule_file.clear();
    }
    if (!arguments.schedule.empty()) {
        PLIMSOLL_TRY(const auto kind, schedule_named(arguments.schedule));
        plan.layout.schedule = kind;
    }
    const auto set = [](std::int64_t& field, std::int64_t value) {
        if (value != 0) field = value;
    };
    set(plan.layout.pp, arguments.stages);
    set(plan.layout.accumulation, arguments.micro_batches);
    set(plan.layout.chunks, arguments.chunks);
    for (const auto& [value, option] :
         {std::pair{plan.layout.pp, "--stages"}, std::pair{plan.layout.accumulation, "--micro-batches"},
          std::pair{plan.layout.chunks, "--chunks"}})
        if (value < 1 || value > max_schedule_ops)
            return bad_input("{} is {}; it must be from 1 to {}", option, value, max_schedule_ops);
    const auto stages = static_cast<double>(plan.layout.pp) * static_cast<double>(chunks_per_rank(plan));
    const auto layers = (plan.model.encoder_decoder() ? 2 : 1) * plan.model.num_layers;
    if (stages > static_cast<double>(layers))
        return bad_input(
            "{} stages x {} chunks are more than the {} layers of the model, and each needs one; take at most {} stages "
            "with these chunks, or {} chunks with these stages",
            plan.layout.pp, chunks_per_rank(plan), layers, std::max<std::int64_t>(1, layers / chunks_per_rank(plan)),
            std::max<std::int64_t>(1, layers / plan.layout.pp));
    return plan;
}

/// Sets one time for all stages, or one for each.
Result<void> type_in(std::vector<Seconds>& times, const std::vector<double>& given, const char* option) {
    if (given.empty()) return {};
    if (given.size() != 1 && given.size() != times.size())
        return bad_input("{} has {} times for {}; give one for all, or one each", option, given.size(), times.size());
    for (const double time : given)
        if (!(time >= 0) || time > 1e12)
            return bad_input("{} has {}; times must be finite and 0 or more", option, time);
    for (std::size_t k = 0; k < times.size(); ++k) times[k] = given.size() == 1 ? given[0] : given[k];
    return {};
}

Result<StageTimes> stage_times(const Plan& plan, const PipelineArguments& arguments) {
    auto times = relative_stage_times(plan);
    for (const auto& [list, given, option] :
         {std::tuple{&times.forward, &arguments.forward, "--forward"},
          std::tuple{&times.backward_input, &arguments.backward_input, "--backward-input"},
          std::tuple{&times.backward_weight, &arguments.backward_weight, "--backward-weight"},
          std::tuple{&times.send, &arguments.send, "--send"}})
        PLIMSOLL_CHECK(type_in(*list, *given, option));
    return times;
}

std::string list_of(const Pipeline& pipeline) { return schedule_text(pipeline.schedule); }

Result<void> write_files(const Pipeline& pipeline, const PipelineArguments& arguments) {
    for (const auto& [path, written_as] : {std::pair{&arguments.svg, &pipeline_svg},
                                           {&arguments.trace, &chrome_trace},
                                           {&arguments.save_list, &list_of}}) {
        if (path->empty()) continue;
        std::error_code ignored;
        if (std::filesystem::equivalent(*path, arguments.plan.plan, ignored))
            return bad_input("{} is the plan itself: name another file", *path);
        if (auto written = write_file_atomic(*path, written_as(pipeline)); !written) return written;
    }
    return {};
}

Result<int> pipeline(PipelineArguments& arguments) {
    PLIMSOLL_TRY(const auto read, arguments.plan.load());
    PLIMSOLL_TRY(const auto plan, with_pipeline_options(read, arguments));
    PLIMSOLL_TRY(auto times, stage_times(plan, arguments));
    PLIMSOLL_TRY(const auto laid_out, simulate_pipeline(plan, std::move(times)));
    PLIMSOLL_CHECK(write_files(laid_out, arguments));
    if (arguments.json)
        say_json(pipeline_json(plan, laid_out));
    else
        say(pipeline_report(plan, laid_out));
    return 0;
}

}  // namespace

void add_pipeline(CLI::App& app, Work& work) {
    CLI::App* command =
        add_command(app, "pipeline", "The pipeline schedule: bubble, waits and activations of each rank");
    const auto arguments = std::make_shared<PipelineArguments>();
    arguments->plan.add_to(*command);
    command
        ->add_option("--schedule", arguments->schedule,
                     fmt::format("In place of the plan's: {}", fmt::join(schedule_names, ", ")))
        ->type_name("NAME");
    command->add_option("--stages", arguments->stages, "Pipeline ranks in place of layout.pp")->type_name("P");
    command->add_option("--micro-batches", arguments->micro_batches, "In place of layout.accumulation")->type_name("M");
    command->add_option("--chunks", arguments->chunks, "In place of layout.chunks")->type_name("V");
    const auto times = [&](const char* name, std::vector<double>& list, const char* what) {
        command->add_option(name, list, what)->type_name("T[,T…]")->delimiter(',');
    };
    times("--forward", arguments->forward, "Forward time of a stage: one for all, or one each; default: from FLOPs");
    times("--backward-input", arguments->backward_input, "Time of the input's gradient");
    times("--backward-weight", arguments->backward_weight, "Time of the weights' gradient");
    times("--send", arguments->send, "Time from stage to stage: one for all links, or one each");
    command->add_option("--list", arguments->list, "Follow the operations of a file, with its ranks and micro-batches")
        ->type_name("FILE");
    command->add_option("--save-list", arguments->save_list, "Also write the operations as a file for --list")
        ->type_name("FILE");
    command->add_flag("--json", arguments->json, "JSON: bubble, ranks, stages and every operation with its times");
    command->add_option("--svg", arguments->svg, "Also draw the timeline as SVG")->type_name("FILE");
    command->add_option("--trace", arguments->trace, "Also write a Chrome trace, which Perfetto opens")
        ->type_name("FILE");
    command->callback([arguments, &work] { work = [arguments] { return pipeline(*arguments); }; });
}

}  // namespace plimsoll::cli
