// SPDX-License-Identifier: GPL-3.0-or-later
// Measured memory of a run's fullest rank, category by category, beside the estimate of the run's plan.
#pragma once

#include <array>
#include <optional>
#include <QString>

#include "core/estimate/estimate.h"

namespace plimsoll::ui {

class RunModel;

struct MeasuredMemory {
    using Kinds = std::array<Bytes, category_names.size()>;
    int rank = 0;
    std::uint64_t step = 0;        ///< step of the measurement; 0: the peak of the whole run
    Bytes measured = 0;            ///< peak of the allocator
    Bytes predicted = 0;           ///< without CUDA, NCCL and fragmentation, which an allocator does not count
    std::optional<Kinds> by_kind;  ///< measured at the peak; nothing where the run recorded none
    Kinds predicted_by_kind{};

    /// 0.02: predicted 2 % too much.
    double off() const { return static_cast<double>(predicted) / static_cast<double>(measured) - 1; }
};

/// Nothing before the first figure or without an estimate. Of several ranks, the one with the highest peak is taken.
std::optional<MeasuredMemory> measuredMemory(const RunModel& run);
/// "as predicted", "predicted 1.2 % too much".
QString measuredWords(const MeasuredMemory& memory);
/// "Rank 0 in step 2".
QString measuredWhere(const MeasuredMemory& memory);

}  // namespace plimsoll::ui
