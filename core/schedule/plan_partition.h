// SPDX-License-Identifier: Apache-2.0
// How a plan's layers are split over its pipeline stages.
#pragma once

#include "core/schedule/partition.h"

namespace plimsoll {

/// balanced_partition of the plan's stages by forward and backward FLOPs (relative_stage_times); the time that a stage
/// recomputes counts for that stage.
Result<Partition> balanced_partition(const Plan& plan);
/// The plan's own split, measured the same way.
Partition partition_of(const Plan& plan);

}  // namespace plimsoll
