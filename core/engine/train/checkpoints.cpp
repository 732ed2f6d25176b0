// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/checkpoints.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "core/plan/adapter.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

namespace {

Bytes size_of(const std::filesystem::path& folder) {
    std::error_code error;
    Bytes bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const auto size = entry.file_size(error);
        if (!error) bytes += static_cast<Bytes>(size);
    }
    return bytes;
}

}  // namespace

Checkpoints::Checkpoints(const Plan& plan, const std::filesystem::path& run, TrainedModel& model, RankAgreement& ranks,
                         Reporter& reporter)
    : plan_(plan), layout_(run), model_(model), ranks_(ranks), reporter_(reporter) {}

Result<Checkpoints::Choice> Checkpoints::choose(std::int64_t before) {
    constexpr std::int64_t none = -1, all_damaged = -2;
    Choice choice;
    std::int64_t found = none;
    // Rank 0 chooses: the others might see another newest checkpoint on a shared file system.
    if (ranks_.first_rank()) {
        if (const auto newest = newest_checkpoint(layout_.checkpoints(), &choice.damaged, {}, before)) {
            found = *step_of(newest->filename().string());
        } else if (!choice.damaged.empty()) {
            found = all_damaged;
        }
    }
    PLIMSOLL_TRY(const auto chosen, ranks_.from_first_rank(found));
    choice.all_damaged = chosen == all_damaged;
    if (chosen >= 0) choice.step = chosen;
    return choice;
}

Error Checkpoints::no_whole_one(const Choice& choice) const {
    return {no_whole_checkpoint(layout_.checkpoints(), choice.damaged), Error::Kind::BadInput};
}

Result<void> Checkpoints::require_goes_on(const CheckpointState& state) const {
    if (plan_.training.steps < state.step) {
        return bad_input("the run has done {} steps already, more than training.steps {}; set it to {} or more",
                         state.step, plan_.training.steps, state.step);
    }
    if (state.weights != 0 && inputs_.weights != 0 && state.weights != inputs_.weights) {
        return bad_input(
            "the weights in {} (model.weights) are not those that the adapter of this run was trained beside; set it to "
            "the folder that holds them",
            plan_.model.weights);
    }
    if (!state.data.known() || !inputs_.data.known()) return {};
    return require_trained_on(state.data, inputs_.data, plan_.data.path, layout_.checkpoint(state.step).string());
}

Result<CheckpointState> Checkpoints::load(std::int64_t step) {
    const std::filesystem::path checkpoint = layout_.checkpoint(step);
    PLIMSOLL_TRY(auto contents, read_checkpoint(checkpoint, plan_));
    PLIMSOLL_CHECK(require_goes_on(contents.state));
    const TrainedState state{contents.optimizer_steps, std::move(contents.weights), std::move(contents.optimizer)};
    const std::string weights_file = (checkpoint / (adapts(plan_) ? adapter_file : model_file)).string();
    PLIMSOLL_CHECK(model_.load(state, weights_file));
    newest_ = contents.state.step;
    return std::move(contents.state);
}

Result<void> Checkpoints::save(const CheckpointState& state) {
    if (newest_ == state.step) return {};
    newest_ = state.step;
    const auto start = std::chrono::steady_clock::now();
    PLIMSOLL_TRY(auto trained, model_.state());
    CheckpointState whole = state;
    whole.data = inputs_.data;
    whole.weights = inputs_.weights;
    whole.planned_steps = plan_.training.steps;
    reporter_.declare_series_again();
    const CheckpointContents contents{std::move(whole), trained.optimizer_steps, std::move(trained.weights),
                                      std::move(trained.optimizer)};
    return ranks_.on_first_rank("write the checkpoint", [&]() -> Result<void> {
        PLIMSOLL_TRY(const auto path,
                     save_checkpoint(layout_.checkpoints(), contents, plan_, plan_.training.keep_checkpoints));
        const Seconds seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const Bytes bytes = size_of(path);
        return reporter_.tell(
            state.step, EventKind::Checkpoint,
            fmt::format("Checkpoint of step {}: {} in {}.", state.step, format_bytes(bytes), format_seconds(seconds)),
            CheckpointEvent{path.filename().string(), bytes, seconds}.to_json());
    });
}

Result<void> Checkpoints::leave(std::int64_t step) {
    return ranks_.on_first_rank("put a checkpoint aside", [&]() -> Result<void> {
        const std::filesystem::path from = layout_.checkpoint(step);
        const std::filesystem::path to = layout_.left_checkpoint(step);
        std::error_code error;
        std::filesystem::remove_all(to, error);
        std::filesystem::rename(from, to, error);
        if (error) return failed("cannot put {} aside: {}", from.string(), error.message());
        return {};
    });
}

}  // namespace plimsoll::engine
