// SPDX-License-Identifier: Apache-2.0
#include "core/control/gradient_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/json.h"

namespace plimsoll {

namespace {

std::vector<GuardAction> ladder_of(const Guard& settings) {
    std::vector<GuardAction> ladder;
    if (settings.clip) ladder.push_back(GuardAction::Clip);
    if (settings.skip) ladder.push_back(GuardAction::Skip);
    if (settings.cut_lr) ladder.push_back(GuardAction::CutLr);
    if (settings.checkpoint) ladder.push_back(GuardAction::Checkpoint);
    if (settings.rollback) ladder.push_back(GuardAction::Rollback);
    return ladder;
}

std::string spike_reason(const char* what, double value, const Judgement& judgement) {
    return fmt::format("the {} {:.4g} is {:.1f} deviations above its usual {:.4g}; up to {:.4g} passes", what, value,
                       judgement.deviations, judgement.centre, judgement.threshold);
}

}  // namespace

GradientGuard::GradientGuard(const Guard& settings)
    : settings_(settings),
      ladder_(ladder_of(settings)),
      norms_(settings.detector, settings.window, settings.warmup, settings.threshold),
      losses_(settings.loss_spikes ? settings.detector : GuardDetector::Off, settings.window, settings.warmup,
              settings.threshold) {}

GuardDecision GradientGuard::find(const GuardSample& sample, bool sampled) {
    GuardDecision decision;
    if (!std::isfinite(sample.loss) || !std::isfinite(sample.grad_norm)) {
        decision.finding = GuardFinding::Nonfinite;
        decision.reason = fmt::format("the loss is {:g} and the gradient norm {:g}", sample.loss, sample.grad_norm);
        return decision;
    }
    if (!sampled) return decision;
    const Judgement norm = norms_.judge(sample.grad_norm), loss = losses_.judge(sample.loss);
    norms_.feed(sample.grad_norm, norm);
    losses_.feed(sample.loss, loss);
    if (norm.anomaly) {
        decision.finding = GuardFinding::GradientSpike;
        decision.clip_to = norm.clip_to;
        decision.reason = spike_reason("gradient norm", sample.grad_norm, norm);
    } else if (loss.anomaly) {
        decision.finding = GuardFinding::LossSpike;
        // The gradients of a bad batch may be of usual size; they are held to that.
        decision.clip_to = norm.judged ? std::min(norm.centre, sample.grad_norm) : 0;
        decision.reason = spike_reason("loss", sample.loss, loss);
    }
    return decision;
}

void GradientGuard::act(GuardDecision& decision, double clip_to) {
    const bool finite = decision.finding != GuardFinding::Nonfinite;
    decision.clip_to = 0;
    decision.apply = finite;
    if (ladder_.empty()) return;
    decision.action = ladder_[static_cast<std::size_t>(std::min<std::int64_t>(state_.rung, std::ssize(ladder_) - 1))];
    ++state_.rung;
    switch (decision.action) {
        case GuardAction::Clip:
            if (finite) decision.clip_to = clip_to;
            if (!finite) decision.action = GuardAction::Skip;
            break;
        case GuardAction::CutLr:
            state_.lr_factor *= settings_.cut_factor;
            if (finite) decision.clip_to = clip_to;
            break;
        case GuardAction::Rollback:
            decision.apply = false;
            if (++state_.rollbacks <= settings_.max_rollbacks) break;
            decision.action = GuardAction::Stop;
            break;
        default:
            decision.apply = false;
            break;
    }
}

GuardDecision GradientGuard::decide(const GuardSample& sample) {
    GuardDecision decision = find(sample, sample.step % std::max<std::int64_t>(settings_.every, 1) == 0);
    if (decision.finding == GuardFinding::None) {
        if (++state_.clean_steps >= settings_.calm) state_.rung = 0;
    } else {
        state_.clean_steps = 0;
        act(decision, decision.clip_to);
    }
    state_.norms = norms_.state();
    state_.losses = losses_.state();
    return decision;
}

void GradientGuard::restore(State state) {
    state_ = std::move(state);
    norms_.restore(state_.norms);
    losses_.restore(state_.losses);
}

void GradientGuard::go_on_after_rollback(const State& before) {
    state_.rung = before.rung;
    state_.clean_steps = before.clean_steps;
    state_.rollbacks = before.rollbacks;
    state_.lr_factor = before.lr_factor;
}

Json to_json(const GradientGuard::State& state) {
    return {{"norms", to_json(state.norms)},    {"losses", to_json(state.losses)}, {"rung", state.rung},
            {"clean_steps", state.clean_steps}, {"rollbacks", state.rollbacks},    {"lr_factor", state.lr_factor}};
}

GradientGuard::State guard_state(const Json& json) {
    return {.norms = window_state(json.at("norms")),
            .losses = window_state(json.at("losses")),
            .rung = json.at("rung").get<std::int64_t>(),
            .clean_steps = json.at("clean_steps").get<std::int64_t>(),
            .rollbacks = json.at("rollbacks").get<std::int64_t>(),
            .lr_factor = json.at("lr_factor").get<double>()};
}

}  // namespace plimsoll
