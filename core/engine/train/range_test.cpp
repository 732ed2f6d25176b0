// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/range_test.h"

#include <algorithm>
#include <cmath>

#include "core/control/lr_range_test.h"
#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

namespace {

/// A loss above so many times the lowest has diverged, as lr_range_test.h judges it.
constexpr double divergence = 4;

}  // namespace

bool RangeTest::over(const StepRecord& step) {
    if (!on_) return false;
    rates_.push_back(step.lr);
    // A loss whose gradient is not finite is the last one before a loss that is not.
    const bool finite = std::isfinite(step.loss) && std::isfinite(step.norms.global);
    losses_.push_back(finite ? step.loss : std::numeric_limits<double>::infinity());
    if (!finite) return true;
    lowest_ = std::min(lowest_, step.loss);
    // Only a loss that stands out so far is worth going through all of them, smoothed.
    if (!(step.loss > divergence * lowest_)) return false;
    const auto result = judge_range_test(rates_, losses_);
    return result && result->diverged;
}

Result<void> RangeTest::tell(Reporter& reporter, std::int64_t updates) const {
    if (!on_) return {};
    const auto result = judge_range_test(rates_, losses_);
    if (!result) {
        return reporter.tell(updates, EventKind::RangeTest,
                             fmt::format("The range test from {:g} to {:g} found no rate at which the loss falls: take "
                                         "more steps, or other bounds (optimizer.lr is the highest rate, "
                                         "lr.warmup_start_ratio the lowest as a share of it).",
                                         rates_.empty() ? 0 : rates_.front(), rates_.empty() ? 0 : rates_.back()));
    }
    std::string sentence = fmt::format("The loss fell fastest at a learning rate of {:.3g} and was lowest at {:.3g}",
                                       result->steepest, result->lowest);
    if (result->diverged) {
        sentence += fmt::format("; it diverged at {:.3g}", *result->diverged);
    }
    sentence += fmt::format("; take optimizer.lr={:.2g} as the peak.", result->suggestion);
    return reporter.tell(
        updates, EventKind::RangeTest, sentence,
        RangeTestEvent{result->steepest, result->lowest, result->suggestion, result->diverged}.to_json());
}

}  // namespace plimsoll::engine
