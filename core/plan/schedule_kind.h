// SPDX-License-Identifier: Apache-2.0
// What the pipeline schedules ask of a layout.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll {

/// The V schedules: two chunks per rank; the model goes down the ranks and back up.
inline bool folds_model(Schedule kind) {
    return kind == Schedule::ZbV || kind == Schedule::VHalf || kind == Schedule::VMin || kind == Schedule::DualPipeV;
}

/// Whether layout.chunks counts.
inline bool takes_chunks(Schedule kind) { return kind == Schedule::Interleaved || kind == Schedule::BreadthFirst; }

/// Stages per rank under `kind`: 2 for the V schedules, `asked` for schedules that take chunks, else 1.
inline std::int64_t chunks_of(Schedule kind, std::int64_t asked) {
    return folds_model(kind) ? 2 : takes_chunks(kind) ? asked : 1;
}

}  // namespace plimsoll
