// SPDX-License-Identifier: Apache-2.0
// Step times that others measured or simulated, read from tables.
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/validation/csv.h"

namespace plimsoll {

struct StepRow {
    std::string name;
    Plan plan;
    Seconds truth = 0;            ///< seconds of a step
    double gradient_overlap = 0;  ///< share of the backward pass that hides gradient transfers in the row's framework
    std::string source;
    std::string group;  ///< rows of the same model, GPUs and global batch: layouts between which one may choose
};

/// Hardware facts that a table with vTrain's columns leaves out.
struct Unsaid {
    std::string gpu = "A100 SXM4 80GB";
    double internode_gbs = 25;  ///< 8 x 200 Gb/s a node
    std::int64_t vocab_size = 51200;
};

/// Rows of a table with vTrain's columns ("# GPUs", "global batch", "micro batch", "hidden size", "attention heads",
/// "# layers", "sequence length", "tensor parallelism", "data parallelism", "pipeline parallelism", "iteration time
/// (ms)"): Megatron-LM's GPT in fp16 with eager attention and dropout, 1F1B, gradients reduced after the backward, all
/// layers recomputed in the rows of a model of which any would not fit otherwise. Or with the columns of
/// resources/published-step-times.csv: name, preset, settings (key=value; …), metric (seconds; model_tflops,
/// hardware_tflops or causal_model_tflops a GPU; tokens_per_second_per_gpu), value, gradient_overlap, source. Errors
/// name the line and the column.
Result<std::vector<StepRow>> read_step_rows(const CsvTable& table, const Unsaid& unsaid = {});

/// Text of the bundled table.
Result<std::string> published_step_times();

}  // namespace plimsoll
