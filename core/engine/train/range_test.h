// SPDX-License-Identifier: Apache-2.0
// A run that looks for its learning rate (lr.kind range_test): which rates it has tried, and what it says of them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/engine/train/reporter.h"
#include "core/engine/train/step_record.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

class RangeTest {
public:
    /// Of any other plan it sees nothing and tells nothing.
    explicit RangeTest(const Plan& plan) : on_(plan.lr.kind == LrKind::RangeTest) {}

    /// Takes a step in; whether its rate has gone too far, so that the run can end.
    bool over(const StepRecord& step);
    Result<void> tell(Reporter& reporter, std::int64_t updates) const;

private:
    bool on_;
    std::vector<double> rates_, losses_;
    double lowest_ = std::numeric_limits<double>::infinity();
};

}  // namespace plimsoll::engine
