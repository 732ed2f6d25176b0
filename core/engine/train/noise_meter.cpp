// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/noise_meter.h"

#include <cmath>

#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

bool NoiseMeter::measures(std::int64_t step) const {
    const std::int64_t every = plan_.training.noise_scale_every;
    return every > 0 && step % every == 0;
}

void NoiseMeter::add(const std::pair<NormSample, NormSample>& small_and_big) {
    const auto& [small, big] = small_and_big;
    if (!std::isfinite(small.squared_norm) || !std::isfinite(big.squared_norm)) return;
    if (const auto estimate = noise_estimate(small, big)) scale_.add(*estimate);
}

std::optional<double> NoiseMeter::value_at(std::int64_t step) const {
    return measures(step) ? scale_.value() : std::nullopt;
}

Result<void> NoiseMeter::tell(Reporter& reporter, std::int64_t updates) const {
    if (scale_.count() == 0) return {};
    const double batch = tokens_per_batch(plan_);
    const auto scale = scale_.value();
    if (!scale) {
        return reporter.tell(
            updates, EventKind::NoiseScale,
            fmt::format("The gradient noise scale cannot be told from {} measurements: noise and signal do not come "
                        "apart yet; measure more often (training.noise_scale_every) or longer.",
                        scale_.count()));
    }
    const bool pays = bigger_batch_pays(batch, *scale);
    return reporter.tell(
        updates, EventKind::NoiseScale,
        fmt::format("The gradient noise scale is about {} tokens ({} measurements), and a batch is {}: a batch twice "
                    "as large would take {:.0f} % fewer steps to the same loss and {:.0f} % more tokens; it {}.",
                    format_short(*scale), scale_.count(), format_short(batch),
                    100 * (1 - steps_ratio(2 * batch, *scale) / steps_ratio(batch, *scale)),
                    100 * (examples_ratio(2 * batch, *scale) / examples_ratio(batch, *scale) - 1),
                    pays ? "pays" : "hardly pays"),
        NoiseScaleEvent{*scale, batch, static_cast<std::int64_t>(scale_.count()), pays}.to_json());
}

}  // namespace plimsoll::engine
