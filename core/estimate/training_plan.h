// SPDX-License-Identifier: Apache-2.0
// A plan to train a model on given hardware, for somebody who has chosen nothing else yet.
#pragma once

#include "core/plan/plan.h"

namespace plimsoll {

/// The recipe of starting_plan(model) on `cluster`: 16-bit training, the model's sequence up to 4,096 tokens, data
/// parallelism over all ranks, and of ZeRO stages and activation checkpointing the least that leaves a tenth of the
/// memory free; the most of both where nothing fits. Models for which a CPU is enough, by starting_plan, keep fp32 and
/// their short sequence.
Plan training_plan(const Model& model, const Cluster& cluster);

}  // namespace plimsoll
