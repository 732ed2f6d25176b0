// SPDX-License-Identifier: Apache-2.0
// What a run was estimated to need and what it took, kept in its folder.
#pragma once

#include <optional>
#include <string>

#include "core/base/units.h"
#include "core/run/run_folder.h"

namespace plimsoll {

/// Bytes of tensors on the rank that took most: the estimate leaves out what an allocator's statistics do not see (CUDA
/// context, NCCL, fragmentation).
struct PeakRecord {
    std::string device;  ///< "cpu", or the GPU's name in the catalogue
    Bytes estimated = 0;
    Bytes measured = 0;
    double ratio() const { return static_cast<double>(measured) / static_cast<double>(estimated); }
};

/// From the run's telemetry: the events "memory" of the ranks' second step, or else the highest memory_peak. Nothing
/// where the run took no step. Error when the plan or the telemetry cannot be read.
Result<std::optional<PeakRecord>> measure_peak(const RunFolder& run);
/// measure_peak, also into RUN/memory.json (atomic). Nothing is written where nothing was measured.
Result<std::optional<PeakRecord>> record_peak(const RunFolder& run);
/// RUN/memory.json; nothing where it is missing or not one of ours.
std::optional<PeakRecord> read_peak(const RunFolder& run);

}  // namespace plimsoll
