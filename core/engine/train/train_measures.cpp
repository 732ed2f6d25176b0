// SPDX-License-Identifier: Apache-2.0
// What a run measures in passing: the gradient noise scale, and the rates of a range test.
#include <cmath>
#include <limits>

#include "core/base/json.h"
#include "core/control/lr_range_test.h"
#include "core/engine/train/train_loop.h"

namespace plimsoll::engine {

namespace {

/// A loss above so many times the lowest has diverged, as lr_range_test.h judges it.
constexpr double divergence = 4;

}  // namespace

bool TrainLoop::measures_noise(std::int64_t step) const {
    const std::int64_t every = plan_.training.noise_scale_every;
    return every > 0 && step % every == 0;
}

/// On every rank alike. A step whose gradients are not finite says nothing.
Result<void> TrainLoop::add_noise_sample(const Step& step) {
    const auto samples = model_.sizes().noise_samples(1 / step.scale);
    model_.sizes().measure_noise(false);
    if (!samples) return tl::unexpected(samples.error());
    const auto& [small, big] = *samples;
    if (!std::isfinite(small.squared_norm) || !std::isfinite(big.squared_norm)) return {};
    if (const auto estimate = noise_estimate(small, big)) noise_scale_.add(*estimate);
    return {};
}

Result<void> TrainLoop::tell_noise_scale() {
    if (noise_scale_.count() == 0) return {};
    const double batch = tokens_per_batch(plan_);
    const auto scale = noise_scale_.value();
    if (!scale) {
        return tell("noise_scale",
                    fmt::format("The gradient noise scale cannot be told from {} measurements: noise and signal do not "
                                "come apart yet; measure more often (training.noise_scale_every) or longer.",
                                noise_scale_.count()));
    }
    const bool pays = bigger_batch_pays(batch, *scale);
    return tell(
        "noise_scale",
        fmt::format("The gradient noise scale is about {} tokens ({} measurements), and a batch is {}: a batch "
                    "twice as large would take {:.0f} % fewer steps to the same loss and {:.0f} % more tokens; it {}.",
                    format_short(*scale), noise_scale_.count(), format_short(batch),
                    100 * (1 - steps_ratio(2 * batch, *scale) / steps_ratio(batch, *scale)),
                    100 * (examples_ratio(2 * batch, *scale) / examples_ratio(batch, *scale) - 1),
                    pays ? "pays" : "hardly pays"),
        {{"noise_scale", *scale},
         {"batch_tokens", batch},
         {"measurements", noise_scale_.count()},
         {"bigger_batch_pays", pays}});
}

bool TrainLoop::range_test_over(const Step& step) {
    if (plan_.lr.kind != LrKind::RangeTest) return false;
    range_test_.rates.push_back(step.lr);
    // A loss whose gradient is not finite is the last one before a loss that is not.
    const bool finite = std::isfinite(step.loss) && std::isfinite(step.norms.global);
    range_test_.losses.push_back(finite ? step.loss : std::numeric_limits<double>::infinity());
    if (!finite) return true;
    range_test_.lowest = std::min(range_test_.lowest, step.loss);
    // Only a loss that stands out so far is worth going through all of them, smoothed.
    if (!(step.loss > divergence * range_test_.lowest)) return false;
    const auto result = judge_range_test(range_test_.rates, range_test_.losses);
    return result && result->diverged;
}

Result<void> TrainLoop::tell_range_test() {
    if (plan_.lr.kind != LrKind::RangeTest) return {};
    const auto result = judge_range_test(range_test_.rates, range_test_.losses);
    if (!result) {
        return tell("range_test",
                    fmt::format("The range test from {:g} to {:g} found no rate at which the loss falls: take more "
                                "steps, or other bounds (optimizer.lr is the highest rate, lr.warmup_start_ratio the "
                                "lowest as a share of it).",
                                range_test_.rates.empty() ? 0 : range_test_.rates.front(),
                                range_test_.rates.empty() ? 0 : range_test_.rates.back()));
    }
    std::string sentence = fmt::format("The loss fell fastest at a learning rate of {:.3g} and was lowest at {:.3g}",
                                       result->steepest, result->lowest);
    Json details = {{"steepest", result->steepest}, {"lowest", result->lowest}, {"suggestion", result->suggestion}};
    if (result->diverged) {
        sentence += fmt::format("; it diverged at {:.3g}", *result->diverged);
        details["diverged"] = *result->diverged;
    }
    sentence += fmt::format("; take optimizer.lr={:.2g} as the peak.", result->suggestion);
    return tell("range_test", sentence, std::move(details));
}

}  // namespace plimsoll::engine
