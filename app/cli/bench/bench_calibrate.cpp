// SPDX-License-Identifier: Apache-2.0
#include "app/cli/bench/bench_calibrate.h"

#include <fmt/chrono.h>

#include <cmath>
#include <ctime>

#include "app/cli/bench/bench_measure.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/json.h"
#include "core/base/median.h"
#include "core/plan/gpu.h"
#include "core/plan/machine.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/step_time/calibration_file.h"
#include "core/step_time/fit.h"
#include "core/step_time/step_timer.h"

namespace plimsoll::cli {

namespace {

/// Runs that separate the rates: product sizes, sequence, layers, number of steps, ranks that communicate. The last two
/// are not fitted but predicted.
constexpr std::pair<const char*, const char*> runs[] = {
    {"small", "model.hidden_size=128 model.ffn_hidden_size=344"},
    {"wide", "model.hidden_size=384 model.ffn_hidden_size=1024 model.num_heads=6 model.num_kv_heads=6"},
    {"long", "data.sequence_length=512 layout.micro_batch=2"},
    {"deep", "model.num_layers=12"},
    {"tiny micro-batches", "layout.micro_batch=1"},
    {"two data-parallel ranks", "layout.dp=2 layout.micro_batch=4"},
    {"two tensor-parallel ranks", "layout.tp=2"},
    {"wide, two data-parallel ranks",
     "model.hidden_size=384 model.ffn_hidden_size=1024 model.num_heads=6 model.num_kv_heads=6 layout.dp=2 "
     "layout.micro_batch=4"},
    {"not fitted to: middle", "model.hidden_size=256 model.ffn_hidden_size=688 model.num_layers=6"},
    {"not fitted to: middle, recomputed",
     "model.hidden_size=256 model.ffn_hidden_size=688 model.num_layers=6 layout.recompute=full"},
};
constexpr std::size_t held_back = 2;

Result<std::vector<Variant>> variants_on(const CalibrateArguments& arguments) {
    PLIMSOLL_TRY(auto base, plan_preset("cpu-demo"));
    base.cluster.gpu = arguments.gpu;
    base.cluster.gpus_per_node = base.cluster.nodes = 1;
    base.layout.dp = 1;
    base.layout.micro_batch = 8;
    base.layout.accumulation = 1;
    base.model.preset.clear();
    PLIMSOLL_TRY(auto short_run, for_bench(base, arguments.steps));
    std::vector<Variant> variants;
    const auto ranks = probe_machine().gpus.size();
    for (const auto& [name, settings] : runs) {
        PLIMSOLL_TRY(auto variant, make_variant(short_run, name, settings));
        // One GPU has no other GPU to communicate with.
        if (arguments.gpu != "cpu" && variant.plan.layout.world_size() > static_cast<std::int64_t>(ranks)) continue;
        variants.push_back(std::move(variant));
    }
    return variants;
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr))); }

}  // namespace

Result<int> calibrate(const CalibrateArguments& arguments) {
    Cluster cluster;
    cluster.gpu = arguments.gpu;
    if (arguments.gpu != "cpu") {
        PLIMSOLL_TRY(const auto gpu, find_gpu(arguments.gpu));
        cluster.gpu = gpu.name;
    }
    PLIMSOLL_TRY(auto start, hardware_of(cluster, Dtype::Fp32));
    PLIMSOLL_TRY(const auto variants, variants_on(arguments));
    PLIMSOLL_CHECK(check_variants(variants));
    PLIMSOLL_TRY(const auto measured, measure(variants, arguments.rounds));

    std::vector<MeasuredStep> fitted;
    std::vector<Seconds> seconds;
    for (std::size_t i = 0; i < variants.size(); ++i) {
        const auto& plan = variants[i].plan;
        const auto tokens = static_cast<double>(plan.layout.global_batch() * plan.data.sequence_length);
        seconds.push_back(tokens / median(measured[i].step_rates));
        if (i + held_back < variants.size()) fitted.push_back({plan, seconds.back()});
    }
    PLIMSOLL_TRY(const auto fit, fit_hardware(start, fitted));
    const auto path = calibration_path(cluster.gpu);
    if (path.empty())
        return bad_input("there is no place for a calibration: set PLIMSOLL_CALIBRATION to a folder, or HOME");
    const auto note = fmt::format("{}, {} runs", today(), variants.size());
    PLIMSOLL_CHECK(write_calibration(path, fit.hardware, note));

    const auto predicted = [&](std::size_t i) {
        const auto& plan = variants[i].plan;
        return StepTimer(plan, fit.hardware).time(plan.layout).total();
    };
    if (arguments.json) {
        Json json{{"file", path.string()},
                  {"error_before", fit.error_before},
                  {"error_after", fit.error_after},
                  {"efficiency", to_json(fit.hardware.efficiency)},
                  {"runs", Json::array()}};
        for (std::size_t i = 0; i < variants.size(); ++i)
            json["runs"].push_back(
                {{"name", variants[i].name}, {"measured_seconds", seconds[i]}, {"predicted_seconds", predicted(i)}});
        say_json(json);
        return 0;
    }
    auto text = fmt::format("{:>10} {:>10} {:>8}  {}\n", "measured", "predicted", "error", "run");
    for (std::size_t i = 0; i < variants.size(); ++i)
        text += fmt::format("{:>10} {:>10} {:>+7.1f}%  {}\n", format_seconds(seconds[i]), format_seconds(predicted(i)),
                            100 * (predicted(i) / seconds[i] - 1), variants[i].name);
    text += fmt::format("mean error of the runs fitted to: {:.1f} %, by the rates before {:.0f} %; kept in {}\n",
                        100 * fit.error_after, 100 * fit.error_before, path.string());
    say(text);
    return 0;
}

}  // namespace plimsoll::cli
