// SPDX-License-Identifier: Apache-2.0
// How long a step of a plan takes, and where the time goes.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/schedule/times.h"
#include "core/step_time/hardware.h"

namespace plimsoll {

enum class TimePart {
    Matmul,
    Attention,
    Elementwise,
    Recompute,
    Launch,
    Tensor,
    Context,
    Expert,
    Pipeline,
    Bubble,
    Data,
    Host,
    Update,
    Rest
};
inline constexpr std::array<std::string_view, 14> time_part_names{"matrix products",      "attention",
                                                                  "element-wise kernels", "computing again",
                                                                  "waiting for launches", "tensor-parallel links",
                                                                  "context links",        "expert links",
                                                                  "sends between stages", "pipeline bubble",
                                                                  "data-parallel links",  "transfers to the host",
                                                                  "optimizer update",     "once a step"};

/// Seconds of one optimizer step on the slowest pipeline rank; what overlaps counts once, as the longer of the two.
struct StepTime {
    std::array<Seconds, time_part_names.size()> parts{};

    Seconds& of(TimePart part) { return parts[static_cast<std::size_t>(part)]; }
    Seconds of(TimePart part) const { return parts[static_cast<std::size_t>(part)]; }
    Seconds total() const;
};

/// Floating-point operations of a step over all ranks: the model's own (6 a parameter and token in products, 12 s q in
/// attention, the masked half counted: PaLM, Chowdhery 2022, appendix B; with `causal` not counted in decoders), and
/// those computed again.
struct StepFlops {
    double model = 0, again = 0;
};
StepFlops step_flops(const Plan& plan, bool causal = false);

/// A step with what people ask of it.
struct StepReport {
    StepTime time;
    Seconds step = 0;
    double tokens = 0;             ///< a step, over all ranks
    double tokens_per_second = 0;  ///< over all ranks
    double mfu = 0;                ///< the model's FLOPs / (step x ranks x peak)
    double hfu = 0;                ///< the same with what is computed again
    double bubble = 0;             ///< share of the step
    Hardware hardware;
};

/// The plan has to be possible. Error for a GPU that is not in the catalogue. Pipelines in closed form
/// (pipeline_time.h); with `simulated` by the simulator on these stage times, which any schedule and a list from a file
/// need.
Result<StepReport> step_time(const Plan& plan, const Hardware& hardware, bool simulated = false);
Result<StepReport> step_time(const Plan& plan);

/// Seconds of each stage of the plan's pipeline, sends included: what simulate_pipeline takes.
StageTimes stage_seconds(const Plan& plan, const Hardware& hardware);

/// What a budget of tokens takes.
struct Budget {
    double tokens = 0;
    double steps = 0;
    Seconds time = 0;
    double gpu_hours = 0;
    double price = 0;  ///< of all GPU-hours; 0 without a price
};
Budget budget_of(const StepReport& report, std::int64_t ranks, double tokens, double price_per_gpu_hour = 0);

/// Seconds by the part's name.
Json to_json(const StepTime& time);
Json to_json(const StepReport& report);

}  // namespace plimsoll
