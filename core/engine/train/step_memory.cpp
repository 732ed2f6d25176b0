// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/step_memory.h"

#include <utility>

#include "core/engine/memory/memory_counter.h"

namespace plimsoll::engine {

StepMemoryWatch::StepMemoryWatch() : standing_(memory_by_category()), recorder_(std::in_place) {
    recorder_->watch_ops();
}

StepMemory StepMemoryWatch::finish() {
    StepMemory memory{standing_, std::move(recorder_->trace()), routing_.counts()};
    recorder_.reset();
    return memory;
}

}  // namespace plimsoll::engine
