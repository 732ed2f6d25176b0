// SPDX-License-Identifier: Apache-2.0
// The parts of Megatron-LM's command line. For core/interop/exports/megatron*.cpp only.
#pragma once

#include <vector>

#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports::megatron_lm {

inline constexpr std::string_view title = "Megatron-LM's arguments";

/// Error where pretrain_gpt.py would end before its first step: what its code asserts of such a plan (main, 2026-08).
/// Everything else that it asserts is in the words that the functions below write.
Result<void> require_accepted(const Plan& plan);

/// Sizes and parts of the model, experts, stability.
void model(CommandLine& line, const Plan& plan, Notes& notes);
/// Parallelism, pipeline stages, sharding, recomputation, batch.
void layout(CommandLine& line, const Plan& plan, Notes& notes);
/// Optimizer, learning rate, precision, seed.
void recipe(CommandLine& line, const Plan& plan, Notes& notes);
/// Data and tokenizer, validation, checkpoints, logs.
void data_and_files(CommandLine& line, const Plan& plan, Notes& notes);

/// --pipeline-model-parallel-layout for stages of so many layers: "Et*8|t*8|t*7L".
std::string stage_words(const std::vector<std::int64_t>& layers);
/// --microbatch-group-size-per-virtual-pipeline-stage: the fewest micro-batches from `stages` on that leave no rest, or
/// one of at least `stages` (megatron/core/pipeline_parallel/schedules.py:1157-1180). `micro_batches` >= `stages`.
std::int64_t micro_batch_group(std::int64_t micro_batches, std::int64_t stages);

}  // namespace plimsoll::exports::megatron_lm
