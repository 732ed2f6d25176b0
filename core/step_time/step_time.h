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

/// Seconds of one optimizer step on the slowest pipeline rank; of two overlapping parts the longer one counts.
struct StepTime {
    std::array<Seconds, time_part_names.size()> parts{};

    Seconds& of(TimePart part) { return parts[static_cast<std::size_t>(part)]; }
    Seconds of(TimePart part) const { return parts[static_cast<std::size_t>(part)]; }
    Seconds total() const;
};

/// Floating-point operations of a step over all ranks: the model's own (6 a parameter and token in products, 12 s q in
/// attention, the masked half counted: PaLM, Chowdhery 2022, appendix B; with `causal` the masked half is not counted
/// in decoders), and the recomputed ones.
struct StepFlops {
    double model = 0, again = 0;
};
StepFlops step_flops(const Plan& plan, bool causal = false);

/// A step's time with the figures that people ask for.
struct StepReport {
    StepTime time;
    Seconds step = 0;
    double tokens = 0;             ///< a step, over all ranks
    double tokens_per_second = 0;  ///< over all ranks
    double mfu = 0;                ///< the model's FLOPs / (step x ranks x peak)
    double hfu = 0;                ///< the same with recomputed FLOPs
    double bubble = 0;             ///< share of the step
    Hardware hardware;
};

/// The plan has to be possible. Error for a GPU that is not in the catalogue. The bubble of a pipeline is in closed
/// form (pipeline_time.h); with `simulated`, and for a schedule from a file, it comes from the simulator on these stage
/// times.
Result<StepReport> step_time(const Plan& plan, const Hardware& hardware, bool simulated = false);
Result<StepReport> step_time(const Plan& plan);

/// Seconds of each stage of the plan's pipeline, sends included, as simulate_pipeline takes them.
StageTimes stage_seconds(const Plan& plan, const Hardware& hardware);

/// Time and cost of a budget of tokens.
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
