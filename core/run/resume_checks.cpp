// SPDX-License-Identifier: Apache-2.0
#include "core/run/resume_checks.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/weights_fingerprint.h"
#include "core/control/lr_extension.h"
#include "core/data/corpus.h"
#include "core/plan/adapter.h"
#include "core/plan/plan_difference.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_named = 3;  ///< fields in a sentence

Result<void> require_same_training(const RunLayout& run, const Plan& recorded, const Plan& wanted) {
    std::vector<std::string> named;
    std::size_t others = 0;
    for (const FieldDifference& each : differences(recorded, wanted)) {
        if (each.may_change_on_resume) continue;
        if (named.size() == most_named) {
            ++others;
            continue;
        }
        named.push_back(fmt::format("{} was {} and is {} now, which cannot change since {}", each.key, each.before,
                                    each.after, each.resume_reason));
    }
    if (others > 0) named.push_back(fmt::format("{} more fields differ", others));
    if (!named.empty()) {
        return bad_input("cannot resume {} with another plan: {}; start a new run for that", run.run().string(),
                         fmt::join(named, "; "));
    }
    const std::int64_t then = recorded.layout.global_batch(), now = wanted.layout.global_batch();
    if (then == now) return {};
    return bad_input(
        "cannot resume {} with another global batch: it was {} sequences and is {} now; choose layout.dp, "
        "layout.micro_batch and layout.accumulation so that their product is {}, or start a new run",
        run.run().string(), then, now, then);
}

/// What the newest whole checkpoint says; nothing where the run has none yet.
Result<std::optional<CheckpointState>> state_of(const RunLayout& run) {
    std::vector<std::string> damaged;
    const auto newest = newest_checkpoint(run.checkpoints(), &damaged);
    if (newest) {
        constexpr const char* checked[] = {config_file};  // newest_checkpoint has looked at all of them
        PLIMSOLL_TRY(auto document, verified_state(*newest, checked));
        return std::optional(std::move(document.state));
    }
    if (damaged.empty()) return std::optional<CheckpointState>();
    return bad_input("{}", no_whole_checkpoint(run.checkpoints(), damaged));
}

/// Of checkpoints that do not say what was trained on: the text that the run has named.
Result<DataFingerprint> recorded_data(const CheckpointState& state, const Plan& recorded, const Plan& wanted) {
    if (state.data.known() || recorded.data.path == wanted.data.path) return state.data;
    const auto corpus = load_corpus(recorded.data);
    if (corpus) return fingerprint_of(*corpus, recorded);
    return bad_input(
        "cannot tell whether {} (data.path) is the text of the run: its checkpoints do not say, and the text that it has "
        "named is not there ({})",
        wanted.data.path, corpus.error().message);
}

Result<void> require_same_data(const RunLayout& run, const CheckpointState& state, const Plan& recorded,
                               const Plan& wanted) {
    PLIMSOLL_TRY(const auto then, recorded_data(state, recorded, wanted));
    if (!then.known()) return {};
    PLIMSOLL_TRY(const auto corpus, load_corpus(wanted.data));
    return require_trained_on(then, fingerprint_of(corpus, wanted), wanted.data.path,
                              run.checkpoint(state.step).string());
}

/// Weights beside adapters are read from their files at each start.
Result<void> require_same_weights(const CheckpointState& state, const Plan& recorded, const Plan& wanted) {
    if (!adapts(wanted) || wanted.model.weights.empty()) return {};
    const bool moved = recorded.model.weights != wanted.model.weights;
    if (state.weights == 0 && !moved) return {};
    PLIMSOLL_TRY(const auto now, weights_fingerprint(wanted.model.weights));
    std::uint64_t then = state.weights;
    if (then == 0) {
        PLIMSOLL_TRY(then, weights_fingerprint(recorded.model.weights));
    }
    if (then == now) return {};
    return bad_input(
        "the weights in {} (model.weights) are not those that the adapter of this run was trained beside; name the "
        "folder that holds them, or start a new run",
        wanted.model.weights);
}

std::string rate(double value) { return fmt::format("{:.3g}", value); }

Result<void> require_steady_rate(const Plan& recorded, const Plan& wanted, std::int64_t done) {
    const auto jump = rate_jump(recorded, wanted, done);
    if (!jump) return {};
    return bad_input(
        "with {} steps in place of {} the learning rate would jump from {} to {} at step {}; choose how the run goes on: "
        "--extend constant (behind step {} it stays what it is there), --extend rewarm (there the schedule begins again), "
        "or --extend stretch (it jumps)",
        wanted.training.steps, recorded.training.steps, rate(jump->before), rate(jump->after), done + 1,
        recorded.training.steps);
}

}  // namespace

Result<void> check_resume(const RunLayout& run, const Plan& recorded, const Plan& wanted,
                          const ResumeOptions& options) {
    PLIMSOLL_CHECK(require_same_training(run, recorded, wanted));
    if (options.from_scratch) return {};
    PLIMSOLL_TRY(const auto state, state_of(run));
    if (!state) return {};
    if (wanted.training.steps < state->step) {
        return bad_input("the run {} has done {} steps already, more than the {} that are asked for; give {} or more",
                         run.run().string(), state->step, wanted.training.steps, state->step);
    }
    PLIMSOLL_CHECK(require_same_data(run, *state, recorded, wanted));
    PLIMSOLL_CHECK(require_same_weights(*state, recorded, wanted));
    return options.jump_is_meant ? Result<void>() : require_steady_rate(recorded, wanted, state->step);
}

}  // namespace plimsoll
