// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/closed_form.h"

#include <algorithm>

namespace plimsoll {

std::optional<ClosedForm> closed_form_bubble(Schedule kind, const ScheduleShape& shape, Seconds forward,
                                             Seconds backward_input, Seconds backward_weight) {
    const double p = shape.ranks, m = shape.micro_batches,
                 v = static_cast<double>(std::max<std::int64_t>(1, chunks_of(kind, shape.chunks)));
    const double work = m * (forward + backward_input + backward_weight), whole = work / m;
    const auto rate = [&](Seconds lost, const char* formula, const char* source) {
        lost = std::max(0.0, lost);
        return ClosedForm{lost > 0 ? lost / (lost + work) : 0, formula, source};
    };
    switch (kind) {
        case Schedule::GPipe:
            return rate((p - 1) * whole, "(p−1)/(m+p−1)", "Huang et al. 2019");
        case Schedule::OneFOneB:
            return rate((p - 1) * whole, "(p−1)/(m+p−1)", "Narayanan et al. 2021");
        case Schedule::Interleaved:
            return rate((p - 1) * whole / v, "(p−1)/(v·m+p−1)", "Narayanan et al. 2021");
        case Schedule::BreadthFirst:
            return rate((p - 1) * whole / v, "(p−1)/(v·m+p−1)", "Lamy-Poirier 2022");
        case Schedule::ZbH1:
            return rate((p - 1) * (forward + backward_input - backward_weight), "(p−1)(F+B−W), lost a step",
                        "Qi et al. 2024, zero bubble");
        case Schedule::ZbH2:
            return rate((p - 1) * (forward + backward_input - 2 * backward_weight), "(p−1)(F+B−2W), lost a step",
                        "Qi et al. 2024, zero bubble");
        case Schedule::ZbV:
            return rate(0, "0 when F = B = W", "Qi et al. 2024, controllable memory");
        case Schedule::VHalf:
            return rate(p / 2 * whole, "about p/(2m)", "Qi et al. 2024, controllable memory");
        case Schedule::VMin:
            return rate(2 * p / 3 * whole, "about 2p/(3m)", "Qi et al. 2024, controllable memory");
        case Schedule::DualPipeV: {
            // (p'/2 - 1)(F&B + B_full - 3W) over p' = 2p stages; a stage is half a rank's model.
            const double f = forward / 2, b = backward_input / 2, w = backward_weight / 2;
            return rate((p - 1) * ((f + b + w) + (b + w) - 3 * w), "(p−1)(F&B+B−3W), lost a step", "DeepSeek-V3");
        }
        case Schedule::Zb1p:
        case Schedule::Zb2p:
            return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace plimsoll
