// SPDX-License-Identifier: Apache-2.0
// The search over layouts: bin/bench_planner. items_per_second of evaluate_* are layouts a second on one core.
#include <benchmark/benchmark.h>

#include "core/estimate/peak_counter.h"
#include "core/plan/presets.h"
#include "core/planner/planner.h"
#include "core/planner/space.h"
#include "core/step_time/step_timer.h"

namespace plimsoll {
namespace {

PlanRequest request(const char* model, const char* gpu, std::int64_t gpus, std::int64_t batch, std::int64_t length) {
    PlanRequest r;
    r.plan.model = *model_preset(model);
    r.plan.model.max_position = std::max(r.plan.model.max_position, length);
    r.plan.numerics.dtype = Dtype::Bf16;
    r.plan.data.sequence_length = length;
    r.plan.cluster = {gpu, 8, gpus / 8, 0, 50};
    r.global_batch = batch;
    r.keep = 10;
    return r;
}

PlanRequest gpt3() { return request("gpt-3-175b", "A100 SXM4 80GB", 4096, 4096, 2048); }

/// Memory and time of every layout, one after the other, nothing ruled out.
void evaluate_gpt3_175b_on_4096(benchmark::State& state) {
    const auto r = gpt3();
    const auto layouts = all_layouts(r, 4096);
    const auto hardware = *hardware_of(r.plan.cluster, r.plan.numerics.dtype);
    PeakCounter peaks(r.plan);
    StepTimer times(r.plan, hardware);
    for (auto _ : state)
        for (const auto& layout : layouts) {
            benchmark::DoNotOptimize(peaks.fullest(layout));
            benchmark::DoNotOptimize(times.time(layout).total());
        }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(layouts.size()));
}
BENCHMARK(evaluate_gpt3_175b_on_4096)->Unit(benchmark::kMillisecond);

void plan(benchmark::State& state, PlanRequest r) {
    r.threads = static_cast<int>(state.range(0));
    std::int64_t layouts = 0;
    for (auto _ : state) {
        const auto result = plan_layouts(r);
        layouts += result->counts.layouts;
        benchmark::DoNotOptimize(result);
    }
    state.SetItemsProcessed(layouts);
}
BENCHMARK_CAPTURE(plan, llama_7b_on_8, request("llama-7b", "A100 SXM4 80GB", 8, 128, 2048))
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, gpt3_175b_on_4096, gpt3())->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, llama3_405b_on_16384, request("llama-3-405b", "H100 SXM5 80GB", 16384, 2048, 8192))
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plimsoll
