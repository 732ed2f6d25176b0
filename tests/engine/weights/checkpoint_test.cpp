// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/schedule/generators/make_schedule.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/small_models.h"
#include "tests/support/temp_folder.h"

namespace plimsoll::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using torch::Tensor;

PipelineSchedule one_rank() { return make_schedule(Schedule::OneFOneB, {1, 1, 1}).value(); }

/// A model in training.
struct Training {
    explicit Training(const Plan& its_plan, std::uint64_t seed = 3)
        : plan([&] {
              Plan seeded = its_plan;
              seeded.training.seed = static_cast<std::int64_t>(seed);
              return seeded;
          }()),
          model(plan, *mesh, schedule, torch::Device(torch::kCPU)) {
        EXPECT_TRUE(model.make_optimizer(plan.optimizer));
    }

    void step(std::uint64_t seed) {
        model.zero_gradients();
        model.prepare_backward(true);
        Decoder& decoder = model.chunk(0);
        language_model_loss(decoder.forward(random_tokens(plan, 2, 8, seed)), random_tokens(plan, 2, 8, seed + 1000))
            .backward();
        EXPECT_TRUE(model.finish_backward());
        EXPECT_TRUE(model.step(0.01, 1, 1));
    }
    CheckpointContents contents(const CheckpointState& state) {
        return {state, model.optimizer_steps(), model.weights().whole().value(), model.whole_optimizer_state().value()};
    }
    Result<CheckpointState> load(const fs::path& path) {
        PLIMSOLL_TRY(const auto read, read_checkpoint(path, plan));
        auto loaded = model.weights().load(read.weights, (path / "model.safetensors").string());
        if (loaded) loaded = model.load_optimizer_state(read.optimizer, read.optimizer_steps);
        if (!loaded) return tl::unexpected(loaded.error());
        return read.state;
    }
    std::vector<Tensor> parameters() const { return model.chunk(0).parameters(); }
    bool same_weights(const Training& other) const {
        const auto a = parameters(), b = other.parameters();
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (!torch::equal(a[i], b[i])) return false;
        }
        return a.size() == b.size();
    }

    Plan plan;
    std::unique_ptr<Mesh> mesh = Mesh::alone();
    PipelineSchedule schedule = one_rank();
    DistributedModel model;
};

class Checkpoint : public testing::Test {
protected:
    fs::path save(Training& training, std::int64_t step, std::int64_t keep = 3) {
        const auto path = save_checkpoint(checkpoints_, training.contents({step, 16, {}, {}}), training.plan, keep);
        EXPECT_TRUE(path) << path.error().message;
        return path.value_or(fs::path());
    }
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(checkpoints_))
            found.push_back(entry.path().filename().string());
        std::sort(found.begin(), found.end());
        return found;
    }
    static void flip_bit(const fs::path& file, std::size_t byte) {
        std::string bytes = contents_of(file);
        bytes.at(byte) = static_cast<char>(bytes.at(byte) ^ 1);
        put_contents(file, bytes);
    }

    TempFolder folder_;
    fs::path checkpoints_ = folder_ / "checkpoints";
};

TEST_F(Checkpoint, ResumedTrainingIsTheUndisturbedOneBitForBit) {
    for (const std::string& preset : family_presets()) {
        for (const Dtype dtype : {Dtype::Fp32, Dtype::Bf16, Dtype::Fp16}) {
            Plan plan = small_plan(preset);
            plan.numerics.dtype = dtype;
            Training undisturbed(plan);
            for (std::uint64_t i = 0; i < 3; ++i) undisturbed.step(i);
            const CheckpointState state{3, 12345678901234567890U, {65536.5, 17, -1, 2}, {}};
            const auto path = save_checkpoint(checkpoints_, undisturbed.contents(state), plan, 3);
            ASSERT_TRUE(path) << path.error().message;

            Training resumed(plan, 99);
            ASSERT_FALSE(resumed.same_weights(undisturbed));
            const auto loaded = resumed.load(*path);
            ASSERT_TRUE(loaded) << loaded.error().message;
            EXPECT_EQ(loaded->step, 3);
            EXPECT_EQ(loaded->samples, 12345678901234567890U);
            EXPECT_EQ(loaded->scaler.scale, 65536.5);
            EXPECT_EQ(loaded->scaler.iteration, 17);
            EXPECT_EQ(loaded->scaler.last_overflow, -1);
            EXPECT_EQ(loaded->scaler.hysteresis, 2);
            EXPECT_EQ(resumed.model.optimizer_steps(), 3);
            EXPECT_TRUE(resumed.same_weights(undisturbed));
            for (std::uint64_t i = 3; i < 6; ++i) {
                undisturbed.step(i);
                resumed.step(i);
            }
            EXPECT_TRUE(resumed.same_weights(undisturbed)) << preset;
        }
    }
}

TEST_F(Checkpoint, OnlyTheNewestRemain) {
    Training training(small_plan("gpt2"));
    for (const std::int64_t step : {10, 20, 30, 40}) save(training, step, 2);
    EXPECT_THAT(names(), testing::ElementsAre("step-00000030", "step-00000040"));
    EXPECT_EQ(newest_checkpoint(checkpoints_), checkpoints_ / "step-00000040");
    save(training, 123456789, 0);  // at least the one just made
    EXPECT_THAT(names(), testing::ElementsAre("step-123456789"));
}

TEST_F(Checkpoint, StepsAreOrderedAsNumbers) {
    Training training(small_plan("gpt2"));
    save(training, 99999999);
    save(training, 100000000);
    EXPECT_EQ(newest_checkpoint(checkpoints_), checkpoints_ / "step-100000000");
}

TEST_F(Checkpoint, SameStepIsReplaced) {
    Training training(small_plan("gpt2"));
    save(training, 10);
    training.step(1);
    const fs::path path = save(training, 10);
    EXPECT_THAT(names(), testing::ElementsAre("step-00000010"));
    Training loaded(training.plan, 99);
    ASSERT_TRUE(loaded.load(path));
    EXPECT_TRUE(loaded.same_weights(training));
}

TEST_F(Checkpoint, ARunThatWentBackKeepsWhatItMakesAndLeavesLaterOnes) {
    Training training(small_plan("gpt2"));
    save(training, 20);
    flip_bit(save(training, 30) / "model.safetensors", 2000);
    save(training, 25, 1);
    EXPECT_THAT(names(), testing::ElementsAre("step-00000025", "step-00000030"));
    EXPECT_EQ(newest_checkpoint(checkpoints_), checkpoints_ / "step-00000025");
}

TEST_F(Checkpoint, NothingThereIsNoCheckpoint) {
    EXPECT_EQ(newest_checkpoint(folder_ / "missing"), std::nullopt);
    fs::create_directories(checkpoints_ / "step-abc");
    fs::create_directories(checkpoints_ / "step-12");
    fs::create_directories(checkpoints_ / "step--0000012");
    fs::create_directories(checkpoints_ / ".step-00000012.new");
    std::vector<std::string> skipped;
    EXPECT_EQ(newest_checkpoint(checkpoints_, &skipped), std::nullopt);
    EXPECT_TRUE(skipped.empty());
}

TEST_F(Checkpoint, ADamagedOneIsPassedOverAndNamed) {
    Training training(small_plan("gpt2"));
    const fs::path good = save(training, 10);
    const auto damages = std::map<std::string, std::function<void(const fs::path&)>>{
        {"weights cut short", [](const fs::path& p) { fs::resize_file(p / "model.safetensors", 3000); }},
        {"weights longer", [](const fs::path& p) { std::ofstream(p / "model.safetensors", std::ios::app) << "x"; }},
        {"bit of a weight", [](const fs::path& p) { flip_bit(p / "model.safetensors", 9000); }},
        {"bit of a moment", [](const fs::path& p) { flip_bit(p / "optimizer.safetensors", 9000); }},
        {"bit of the header", [](const fs::path& p) { flip_bit(p / "optimizer.safetensors", 40); }},
        {"bit of the config", [](const fs::path& p) { flip_bit(p / "config.json", 40); }},
        {"digit of the state",
         [](const fs::path& p) {
             std::string text = contents_of(p / "state.json");
             text.at(text.find("16")) = '9';
             put_contents(p / "state.json", text);
         }},
        {"no optimizer", [](const fs::path& p) { fs::remove(p / "optimizer.safetensors"); }},
        {"no state", [](const fs::path& p) { fs::remove(p / "state.json"); }},
        {"empty state", [](const fs::path& p) { put_contents(p / "state.json", ""); }},
        {"state of wrong shape", [](const fs::path& p) { put_contents(p / "state.json", "[1]"); }},
        {"empty folder", [](const fs::path& p) { fs::remove_all(p), fs::create_directory(p); }},
        {"a file", [](const fs::path& p) { fs::remove_all(p), put_contents(p, "x"); }},
        {"renamed", [this](const fs::path& p) { fs::remove_all(p), fs::copy(checkpoints_ / "step-00000010", p); }},
    };
    for (const auto& [what, damage] : damages) {
        damage(save(training, 20));
        std::vector<std::string> skipped;
        EXPECT_EQ(newest_checkpoint(checkpoints_, &skipped), good) << what;
        ASSERT_EQ(skipped.size(), 1U) << what;
        EXPECT_THAT(skipped[0], testing::StartsWith("step-00000020: ")) << what;

        Training other(training.plan, 99);
        const Tensor before = other.parameters()[0].detach().clone();
        EXPECT_FALSE(other.load(checkpoints_ / "step-00000020")) << what;
        EXPECT_TRUE(torch::equal(other.parameters()[0], before)) << what;
        fs::remove_all(checkpoints_ / "step-00000020");
    }
}

TEST_F(Checkpoint, OfAnotherModelIsRefusedAndChangesNothing) {
    Training training(small_plan("llama-7b"));
    const fs::path path = save(training, 10);
    std::vector<Plan> others(5, training.plan);
    others[0].model.num_layers = 3;
    others[1].model.vocab_size = 62;
    others[2].numerics.dtype = Dtype::Bf16;
    others[3].model.tied_head = true;
    others[4].model.rope_theta = 5e5;  // as many numbers, in the same shapes
    const char* named[] = {"model.num_layers is 2 there and 3", "model.vocab_size is 61", "model.safetensors",
                           "model.tied_head is false", "model.rope_theta is 10000.0 there and 500000.0"};
    for (std::size_t i = 0; i < others.size(); ++i) {
        Training other(others[i], 99);
        other.step(1);
        const Tensor before = other.parameters().back().detach().clone();
        const Tensor moment = other.model.whole_optimizer_state()->back().second.clone();
        const auto loaded = other.load(path);
        ASSERT_FALSE(loaded);
        EXPECT_THAT(loaded.error().message, HasSubstr(named[i]));
        EXPECT_TRUE(torch::equal(other.parameters().back(), before));
        EXPECT_TRUE(torch::equal(other.model.whole_optimizer_state()->back().second, moment));
        EXPECT_EQ(other.model.optimizer_steps(), 1);
    }
}

TEST_F(Checkpoint, AFullDiskIsAnErrorAndTheOthersStand) {
    Training training(small_plan("llama-7b"));
    const fs::path good = save(training, 10);
    for (const rlim_t room : {0U, 1000U, 50'000U}) {
        const FileSizeLimit limit(room);
        for (const std::int64_t step : {10, 20}) {
            const auto path = save_checkpoint(checkpoints_, training.contents({step, 0, {}, {}}), training.plan, 1);
            ASSERT_FALSE(path);
            EXPECT_THAT(path.error().message, HasSubstr("file size limit"));
        }
    }
    EXPECT_THAT(names(), testing::ElementsAre("step-00000010"));
    EXPECT_EQ(newest_checkpoint(checkpoints_), good);
}

TEST_F(Checkpoint, WhatACrashLeftBehindIsClearedAway) {
    fs::create_directories(checkpoints_ / ".step-00000005.new");
    put_contents(checkpoints_ / ".step-00000005.new" / "model.safetensors.1.tmp", "half");
    put_contents(checkpoints_ / "notes.txt", "a person's");
    Training training(small_plan("gpt2"));
    save(training, 10);
    EXPECT_THAT(names(), testing::ElementsAre("notes.txt", "step-00000010"));
}

TEST_F(Checkpoint, AFolderThatCannotBeMadeIsAnError) {
    put_contents(checkpoints_, "a file");
    Training training(small_plan("gpt2"));
    const auto path = save_checkpoint(checkpoints_, training.contents({1, 0, {}, {}}), training.plan, 1);
    ASSERT_FALSE(path);
    EXPECT_THAT(path.error().message, HasSubstr("cannot save a checkpoint"));
    EXPECT_EQ(contents_of(checkpoints_), "a file");
}

}  // namespace
}  // namespace plimsoll::engine
