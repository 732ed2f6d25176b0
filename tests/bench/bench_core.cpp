// SPDX-License-Identifier: Apache-2.0
// What an edit in the studio costs: estimate, pipeline simulation, plot query, loading a plan.
#include <benchmark/benchmark.h>

#include <cmath>

#include "core/base/json.h"
#include "core/control/gradient_guard.h"
#include "core/estimate/estimate.h"
#include "core/estimate/estimate_json.h"
#include "core/estimate/peak_counter.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/schedule/generators/auto_schedule.h"
#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/simulate.h"
#include "core/telemetry/pyramid.h"

namespace plimsoll {
namespace {

Plan pipeline_plan() {
    Plan plan;
    plan.model = model_preset("llama-2-70b").value();
    plan.cluster.gpu = "H100 SXM5 80GB";
    plan.cluster.gpus_per_node = 8;
    plan.cluster.nodes = 8;
    plan.layout = Layout{};
    plan.layout.dp = 1;
    plan.layout.tp = 8;
    plan.layout.pp = 8;
    plan.layout.accumulation = 64;
    plan.layout.micro_batch = 1;
    plan.numerics.dtype = Dtype::Bf16;
    plan.data.sequence_length = 4096;
    return plan;
}

void estimate(benchmark::State& state) {
    const Plan plan = pipeline_plan();
    if (!estimate_memory(plan)) state.SkipWithError("the plan is refused");
    for (auto _ : state) benchmark::DoNotOptimize(estimate_memory(plan));
}
BENCHMARK(estimate)->Unit(benchmark::kMicrosecond);

// Layouts of 64 ranks, as a search walks through them: parallelism outermost, ZeRO and recomputation innermost.
void peaks_of_layouts(benchmark::State& state) {
    Plan plan = pipeline_plan();
    std::vector<Layout> layouts;
    for (const std::int64_t tp : {1, 2, 4, 8})
        for (const std::int64_t pp : {1, 2, 4, 8})
            for (const std::int64_t micro_batch : {1, 2, 4})
                for (const bool sequence_parallel : {false, true})
                    for (const auto schedule : {Schedule::OneFOneB, Schedule::Interleaved})
                        for (const auto recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
                            for (const std::int64_t zero : {0, 1, 2, 3})
                                for (const auto offload : {Offload::None, Offload::Cpu})
                                    for (const std::int64_t chunks : {1, 8}) {
                                        if (pp == 1 && schedule == Schedule::Interleaved) continue;
                                        if (pp > 1 && zero > 1) continue;
                                        Layout layout = plan.layout;
                                        layout.tp = tp, layout.pp = pp, layout.dp = 64 / tp / pp;
                                        layout.micro_batch = micro_batch;
                                        layout.sequence_parallel = sequence_parallel && tp > 1;
                                        layout.schedule = schedule, layout.recompute = recompute;
                                        layout.zero_stage = zero, layout.loss_chunks = chunks;
                                        if (zero > 0) layout.offload_optimizer = offload;
                                        layouts.push_back(layout);
                                    }
    PeakCounter counter(plan);
    for (auto _ : state)
        for (const auto& layout : layouts) benchmark::DoNotOptimize(counter.fullest(layout));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(layouts.size()));
}
BENCHMARK(peaks_of_layouts)->Unit(benchmark::kMillisecond);

// Generated, proven and simulated, as with each change of a slider.
void schedule_and_simulate(benchmark::State& state) {
    const auto kind = static_cast<Schedule>(state.range(0));
    const ScheduleShape shape{static_cast<int>(state.range(1)), static_cast<int>(state.range(2)), 2};
    state.SetLabel(schedule_title(kind));
    const StageTimes times =
        StageTimes::uniform(shape.ranks * static_cast<int>(chunks_of(kind, shape.chunks)), 1, 1, 1);
    for (auto _ : state) {
        const auto schedule = make_schedule(kind, shape);
        benchmark::DoNotOptimize(simulate(*schedule, times));
    }
}
BENCHMARK(schedule_and_simulate)
    ->Apply([](benchmark::internal::Benchmark* each) {
        for (std::int64_t kind = 0; kind < static_cast<std::int64_t>(schedule_names.size()); ++kind)
            if (static_cast<Schedule>(kind) != Schedule::Zb1p && static_cast<Schedule>(kind) != Schedule::Zb2p)
                each->Args({kind, 64, 512});
    })
    ->Unit(benchmark::kMillisecond);

// The search under a memory limit of two micro-batches a rank.
void search_zero_bubble(benchmark::State& state) {
    const ScheduleShape shape{static_cast<int>(state.range(0)), static_cast<int>(state.range(1))};
    const StageTimes times = StageTimes::uniform(shape.ranks, 10.4, 10.2, 7.7, 0.4);
    AutoLimits limits;
    limits.micro_batches = 2.0 * shape.ranks;
    for (auto _ : state) benchmark::DoNotOptimize(auto_schedule(shape, times, limits));
}
BENCHMARK(search_zero_bubble)->Args({8, 64})->Args({32, 256})->Args({64, 512})->Unit(benchmark::kMillisecond);

void query_a_million_points(benchmark::State& state) {
    Pyramid pyramid;
    for (std::uint64_t step = 0; step < 1'000'000; ++step) {
        pyramid.append({step, 0, std::sin(static_cast<double>(step) * 1e-3)});
    }
    for (auto _ : state) benchmark::DoNotOptimize(pyramid.query(12'345, 987'654, 900));
}
BENCHMARK(query_a_million_points)->Unit(benchmark::kMicrosecond);

void load_a_plan(benchmark::State& state) {
    const Json document = to_json(pipeline_plan());
    for (auto _ : state) benchmark::DoNotOptimize(plan_from_json(document, "plan"));
}
BENCHMARK(load_a_plan)->Unit(benchmark::kMicrosecond);

/// By detector: what a guard that looks at every step costs of one.
void judge_a_step(benchmark::State& state) {
    Guard settings;
    settings.detector = static_cast<GuardDetector>(state.range(0));
    settings.every = 1;
    GradientGuard guard(settings);
    GuardSample sample;
    for (auto _ : state) {
        ++sample.step;
        sample.loss = 2 + 0.1 * std::sin(static_cast<double>(sample.step));
        sample.grad_norm = 1 + 0.1 * std::cos(static_cast<double>(sample.step));
        benchmark::DoNotOptimize(guard.decide(sample));
    }
    state.SetLabel(std::string(guard_detector_names[static_cast<std::size_t>(state.range(0))]));
}
BENCHMARK(judge_a_step)->DenseRange(1, 3)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace plimsoll
