// SPDX-License-Identifier: Apache-2.0
// The estimated and the measured peak of a run, kept in the run's folder.
#pragma once

#include <optional>
#include <string>

#include "core/base/units.h"
#include "core/run/run_folder.h"

namespace plimsoll {

/// Bytes of tensors on the rank with the highest peak. The estimate leaves out memory that an allocator's statistics do
/// not see (CUDA context, NCCL, fragmentation).
struct PeakRecord {
    std::string device;  ///< "cpu", or the GPU's name in the catalogue
    Bytes estimated = 0;
    Bytes measured = 0;
    double ratio() const { return static_cast<double>(measured) / static_cast<double>(estimated); }
};

/// Reads the peak of the run's latest start from its telemetry, whose layout the plan has: the events "memory" of the
/// ranks' second step, or else the highest memory_peak. Nothing where that start made no step. Error when the plan or the telemetry cannot be read.
Result<std::optional<PeakRecord>> measure_peak(const RunFolder& run);
/// Writes the result of measure_peak to RUN/memory.json (atomic). Without a measurement nothing is written.
Result<std::optional<PeakRecord>> record_peak(const RunFolder& run);
/// Reads RUN/memory.json; nothing where the file is missing or of another form.
std::optional<PeakRecord> read_peak(const RunFolder& run);

}  // namespace plimsoll
