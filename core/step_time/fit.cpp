// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/fit.h"

#include <nlopt.h>

#include <cmath>
#include <memory>

#include "core/plan/checks/check_plan.h"
#include "core/step_time/step_timer.h"

namespace plimsoll {

namespace {

/// A knob multiplies one rate by a factor; shares below 1 stay so, because the datasheet's rate is moved instead.
using Knob = void (*)(Hardware&, double);

std::vector<Knob> knobs_for(const std::vector<MeasuredStep>& measured) {
    std::vector<Knob> knobs{[](Hardware& h, double x) { h.peak *= x; }, [](Hardware& h, double x) { h.memory *= x; },
                            [](Hardware& h, double x) { h.efficiency.host_kernel *= x; },
                            [](Hardware& h, double x) { h.efficiency.step *= x; }};
    for (const auto& step : measured)
        if (step.plan.layout.world_size() > 1) {
            knobs.push_back([](Hardware& h, double x) { h.node_link *= x; });
            knobs.push_back([](Hardware& h, double x) { h.efficiency.host_collective *= x; });
            break;
        }
    return knobs;
}

struct FitProblem {
    const Hardware& start;
    const std::vector<MeasuredStep>& measured;
    std::vector<Knob> knobs;

    Hardware at(const double* logs) const {
        Hardware h = start;
        for (std::size_t i = 0; i < knobs.size(); ++i) knobs[i](h, std::exp(logs[i]));
        return h;
    }
    Seconds predicted(const Hardware& h, const MeasuredStep& step) const {
        return StepTimer(step.plan, h).time(step.plan.layout).total();
    }
    double error(const Hardware& h) const {
        double sum = 0;
        for (const auto& step : measured) sum += std::abs(predicted(h, step) / step.seconds - 1);
        return sum / static_cast<double>(measured.size());
    }
};

/// Moving a rate by a factor of e costs as much as an error of this size.
constexpr double hold = 0.02;
constexpr double widest = 7;  ///< e^7 is a thousand times
constexpr int most_evaluations = 4000;

double cost(unsigned count, const double* logs, double*, void* data) {
    const auto& problem = *static_cast<const FitProblem*>(data);
    const auto h = problem.at(logs);
    double sum = 0;
    for (const auto& step : problem.measured) {
        const double off = std::log(problem.predicted(h, step) / step.seconds);
        sum += off * off;
    }
    for (unsigned i = 0; i < count; ++i) sum += hold * hold * logs[i] * logs[i];
    return sum;
}

}  // namespace

Result<HardwareFit> fit_hardware(const Hardware& start, const std::vector<MeasuredStep>& measured) {
    if (measured.size() < 3) return bad_input("rates need three measured plans or more, not {}", measured.size());
    for (const auto& step : measured)
        if (!(step.seconds > 0) || !std::isfinite(step.seconds))
            return bad_input("a step of {} s was not measured", step.seconds);
    FitProblem problem{start, measured, knobs_for(measured)};
    const auto count = static_cast<unsigned>(problem.knobs.size());
    const std::unique_ptr<std::remove_pointer_t<nlopt_opt>, decltype(&nlopt_destroy)> search(
        nlopt_create(NLOPT_LN_SBPLX, count), &nlopt_destroy);
    std::vector<double> logs(count, 0.0);
    nlopt_set_min_objective(search.get(), cost, &problem);
    nlopt_set_lower_bounds1(search.get(), -widest);
    nlopt_set_upper_bounds1(search.get(), widest);
    nlopt_set_initial_step1(search.get(), 0.5);
    nlopt_set_ftol_rel(search.get(), 1e-8);
    nlopt_set_maxeval(search.get(), most_evaluations);
    double least = 0;
    if (const auto ended = nlopt_optimize(search.get(), logs.data(), &least); ended < 0)
        return bad_input("no rates suit the measured steps (NLopt: {})", nlopt_result_to_string(ended));
    HardwareFit fit;
    fit.hardware = problem.at(logs.data());
    fit.error_before = problem.error(start);
    fit.error_after = problem.error(fit.hardware);
    return fit;
}

}  // namespace plimsoll
