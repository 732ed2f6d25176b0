// SPDX-License-Identifier: Apache-2.0
// The guard's decision on a step whose gradients or loss stand out. It depends on numbers alone, so decisions can be
// repeated from a run's records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/control/robust_window.h"

namespace plimsoll {

enum class GuardFinding { None, Nonfinite, GradientSpike, LossSpike };

/// From the mildest to the strongest. Stop ends the run.
enum class GuardAction { None, Clip, Skip, CutLr, Checkpoint, Rollback, Stop };
inline constexpr std::array<std::string_view, 7> guard_action_names{"none",       "clip",      "skip", "cut_lr",
                                                                    "checkpoint", "roll_back", "stop"};
inline constexpr std::string_view name_of(GuardAction action) {
    return guard_action_names[static_cast<std::size_t>(action)];
}

struct GuardSample {
    std::int64_t step = 0;  ///< counts from 1
    double loss = 0;
    double grad_norm = 0;  ///< before any clipping
};

struct GuardDecision {
    GuardFinding finding = GuardFinding::None;
    GuardAction action = GuardAction::None;
    bool apply = true;   ///< whether the update is made
    double clip_to = 0;  ///< norm to which the gradients are clipped; 0: no clipping
    std::string reason;  ///< the finding in a sentence for a person
};

/// Findings climb a ladder of the enabled actions, one rung a finding, and begin anew after `calm` clean steps; the
/// last rung repeats. Clip cuts the gradients to the threshold. Skip makes no update. A cut of the learning rate holds
/// for the rest of the run, and its update is clipped. A checkpoint is taken without making the update. A rollback goes
/// to the last good checkpoint. A step that is not finite has no update in any case. With no action enabled, a spike is
/// only reported.
class GradientGuard {
public:
    struct State {
        RobustWindow::State norms, losses;
        std::int64_t rung = 0;         ///< the rung of the next finding
        std::int64_t clean_steps = 0;  ///< since the last finding
        std::int64_t rollbacks = 0;
        double lr_factor = 1;  ///< product of all cuts
        bool operator==(const State&) const = default;
    };

    explicit GradientGuard(const Guard& settings);

    /// Called once a step; steps count from 1. Every settings.every-th step is a sample of the windows. A step that is
    /// not finite is a finding in any case, and no sample.
    GuardDecision decide(const GuardSample& sample);
    /// The factor of all cuts together on the learning rate.
    double lr_factor() const { return state_.lr_factor; }
    /// Whether the ladder leads back to a checkpoint.
    bool rolls_back() const { return settings_.rollback; }

    const State& state() const { return state_; }
    void restore(State state);
    /// Called after the checkpoint's state was restored. The windows are those of the checkpoint, since the steps after
    /// it come again; ladder, rollbacks and cuts are those of `before`.
    void go_on_after_rollback(const State& before);

private:
    GuardDecision find(const GuardSample& sample, bool sampled);
    void act(GuardDecision& decision, double clip_to);

    Guard settings_;
    std::vector<GuardAction> ladder_;
    RobustWindow norms_, losses_;
    State state_;
};

Json to_json(const GradientGuard::State& state);
/// Throws Json::exception where the document is of another form.
GradientGuard::State guard_state(const Json& json);

}  // namespace plimsoll
