// SPDX-License-Identifier: Apache-2.0
// The parts of torchtitan's config. For core/interop/exports/torchtitan*.cpp only.
#pragma once

#include "core/base/json.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports::torchtitan {

inline constexpr std::string_view title = "torchtitan's config";

/// 0.2 reads a TOML file, 0.3 a Python function by name with the same fields as options.
enum class Release { Toml, Command };

/// Error where the plan's model is not one that torchtitan's llama3 module can be, or where torchtitan would end before
/// its first step: what its code asserts of such a plan (0.2.2 and 0.3.0, with PyTorch 2.11's pipeline schedules).
Result<void> require_model(const Plan& plan, Release release);
Result<void> require_layout(const Plan& plan, Release release);

/// The llama3 module's flavor of the plan's model, or the name of one to add, which a note describes.
std::string flavor(const Plan& plan, Release release, Notes& notes);

/// "lr_scheduler"
Json learning_rate_block(const Plan& plan, Notes& notes);

/// "parallelism"
Json parallelism(const Plan& plan, Release release, Notes& notes);

/// The schedule of torch.distributed.pipelining that runs: its name, and stages that a rank holds.
struct PipelineSchedule {
    std::string_view name;
    std::int64_t stages_per_rank = 1;
};
PipelineSchedule pipeline_schedule(const Layout& layout);

}  // namespace plimsoll::exports::torchtitan
