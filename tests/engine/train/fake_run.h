// SPDX-License-Identifier: Apache-2.0
// A run of one rank whose model is one number: an update adds 1 to it. Loss and gradient norm of a step are what the
// test says of its batch; checkpoints and records are real files.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/engine/ranks/mesh.h"
#include "core/engine/train/anomaly_response.h"
#include "core/engine/train/checkpoints.h"
#include "core/engine/train/rank_agreement.h"
#include "core/engine/train/recorder.h"
#include "core/engine/train/reporter.h"
#include "core/engine/train/stepper.h"
#include "core/engine/train/trained_model.h"
#include "core/plan/adapter.h"
#include "core/telemetry/reader.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {

class FakeModel final : public TrainedModel {
public:
    explicit FakeModel(const Plan& plan) : size(trained_parameters(plan)) {}

    void update() { ++value, ++optimizer_steps; }
    Result<TrainedState> state() override {
        return TrainedState{optimizer_steps,
                            {{"weight", torch::full({size}, value)}},
                            {{"exp_avg/weight", torch::full({size}, value / 2)}}};
    }
    Result<void> load(const TrainedState& state, const std::string& weights_file) override {
        value = state.weights.at(0).second[0].item<float>();
        moment = state.optimizer.at(0).second[0].item<float>();
        optimizer_steps = state.optimizer_steps;
        loaded_from = weights_file;
        return {};
    }

    std::int64_t size;  ///< numbers of the plan's model
    float value = 0;
    float moment = 0;  ///< as it was loaded
    std::int64_t optimizer_steps = 0;
    std::string loaded_from;
};

/// A run in `folder`, from its newest checkpoint or the start.
class FakeRun {
public:
    static constexpr std::uint64_t batch = 8;

    FakeRun(const std::filesystem::path& folder, const Plan& its_plan)
        : plan(its_plan), model(plan), folder_(folder), recorder_(Recorder::open(folder, 0).value()) {
        choice = checkpoints.choose().value();
        if (choice.step) position = response.restore(checkpoints.load(*choice.step).value());
    }
    FakeRun(const FakeRun&) = delete;
    FakeRun& operator=(const FakeRun&) = delete;

    /// A step as the loop takes it, with this loss and gradient norm; what its answer ended the run with, if it did.
    StepRecord step(double loss, double norm) {
        StepRecord step;
        step.number = position.updates + 1;
        step.samples = response.next_batch(position.samples);
        step.lr = response.rate(position.updates);
        step.scale = response.scale();
        step.loss = loss;
        step.norms.global = norm;
        response.judge(step);
        if (step.applied) {
            divisor = response.divisor(step);
            model.update();
        }
        const auto goes_on = response.respond(step, position_after(step, plan));
        if (goes_on) position = *goes_on;
        error = goes_on ? "" : goes_on.error().message;
        return step;
    }
    StepRecord good() {
        const bool odd = position.updates % 2 == 1;
        return step(odd ? 2.2 : 2, odd ? 1.1 : 0.9);
    }
    StepRecord spike() { return step(2, 50); }
    StepRecord nonfinite() { return step(std::numeric_limits<double>::quiet_NaN(), 1); }
    /// Good steps until so many updates are made.
    void go_to(std::int64_t updates) {
        while (position.updates < updates) {
            const StepRecord done = good();
            ASSERT_TRUE(done.applied) << done.decision.reason;
        }
    }
    void save() {
        const auto saved = checkpoints.save(response.state(position));
        EXPECT_TRUE(saved) << saved.error().message;
    }

    /// Of one kind, or all.
    std::vector<Event> events(std::optional<EventKind> kind = std::nullopt) const {
        TelemetryReader reader(RunLayout(folder_).record(0));
        std::vector<Event> found = reader.poll().value().events;
        if (kind) std::erase_if(found, [&](const Event& each) { return each.kind != *kind; });
        return found;
    }

    const Plan plan;
    FakeModel model;
    Checkpoints::Choice choice;  ///< with which it began
    RunPosition position;
    double divisor = 0;             ///< of the last step that was applied
    std::string error;              ///< of the last step
    std::optional<BadNumbers> bad;  ///< what is found when it is looked for
    int looked_for_bad = 0;

private:
    std::filesystem::path folder_;
    Recorder recorder_;
    std::unique_ptr<Mesh> mesh_ = Mesh::alone();

public:
    Reporter reporter{plan, *mesh_, recorder_, nullptr};

private:
    RankAgreement ranks_{mesh_->world(), nullptr};

public:
    Checkpoints checkpoints{plan, folder_, model, ranks_, reporter};
    AnomalyResponse response{plan, checkpoints, reporter,
                             [this](const StepRecord&) -> Result<std::optional<BadNumbers>> {
                                 ++looked_for_bad;
                                 return bad;
                             }};
};

/// Batches of 8 sequences, a guard that samples each step, no rung of its ladder on.
inline Plan fake_plan() {
    Plan plan = small_plan("llama-7b");
    plan.layout.micro_batch = FakeRun::batch;
    plan.layout.dp = plan.layout.accumulation = 1;
    plan.guard.every = 1;
    plan.guard.warmup = 10;
    plan.guard.window = 32;
    plan.guard.calm = 4;
    plan.training.keep_checkpoints = 5;
    return plan;
}

/// For the messages of gtest.
inline void PrintTo(const RunPosition& position, std::ostream* out) {
    *out << position.updates << " updates, " << position.samples << " sequences";
}

inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace plimsoll::engine
