// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/interval_report.h"

#include <fmt/format.h>

#include "core/calibration/calibration.h"

namespace plimsoll::cli {
namespace {

bool on_gpu(const Plan& plan) { return !plan.cluster.on_cpu(); }

}  // namespace

std::string probability_text(double probability) {
    if (probability < 0.001) return "less than 0.1 %";
    if (probability > 0.999) return "more than 99.9 %";
    return fmt::format("{:.1f} %", 100 * probability);
}

std::string interval_report(Framework framework, const MemoryEstimate& memory, const Plan& plan) {
    const auto total = memory.fullest().total();
    const auto interval = interval_of(framework, total, on_gpu(plan));
    const auto probability = out_of_memory_probability(framework, total, memory.usable, on_gpu(plan));
    const bool borrowed = framework == Framework::Plimsoll || framework == Framework::DeepSpeed;
    const auto whose = on_gpu(plan) ? fmt::format("{} measured peaks{}", samples_of(framework, true),
                                                  borrowed ? " under torchtitan: none of its own is known" : "")
                                    : fmt::format("{} runs measured on CPU ranks", samples_of(framework, false));
    std::string learned;
    if (framework == Framework::Plimsoll)
        if (const auto runs = calibration_of(plan.cluster.gpu); runs.samples > 0)
            learned = fmt::format(
                "Earlier runs here: {} measured {:.3f} of their estimates in the median ({:.3f} to {:.3f}), which makes {}\n",
                runs.samples, runs.median, runs.low, runs.high, format_bytes(runs.applied_to(total)));
    return learned + fmt::format("Under {}: 95 % range {} to {} on the most loaded rank (from {}); OOM risk: {}\n",
                                 profile_of(framework).title, format_bytes(interval.low), format_bytes(interval.high),
                                 whose, probability_text(probability));
}

void add_intervals(Json& json, Framework framework, const MemoryEstimate& memory, const Plan& plan) {
    json["framework"] = name_of(framework);
    for (std::size_t i = 0; i < memory.stages.size(); ++i) {
        const auto total = memory.stages[i].total();
        const auto interval = interval_of(framework, total, on_gpu(plan));
        json["ranks"][i]["low_bytes"] = interval.low;
        json["ranks"][i]["high_bytes"] = interval.high;
        json["ranks"][i]["out_of_memory_probability"] =
            out_of_memory_probability(framework, total, memory.usable, on_gpu(plan));
    }
    if (framework == Framework::Plimsoll) {
        const auto runs = calibration_of(plan.cluster.gpu);
        json["calibration"] = {{"samples", runs.samples},
                               {"median", runs.median},
                               {"low", runs.low},
                               {"high", runs.high},
                               {"calibrated_bytes", runs.applied_to(memory.fullest().total())}};
    }
    json["interval_samples"] = samples_of(framework, on_gpu(plan));
}

}  // namespace plimsoll::cli
