// SPDX-License-Identifier: Apache-2.0
// Whole runs by real processes: what comes out does not depend on the number of ranks, and every bit on the seed only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <functional>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/telemetry/contract/run_layout.h"
#include "tests/support/run_harness.h"

namespace plimsoll::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr double close_enough = 1e-5;  // issue 3, point 10: in fp32

class Training : public ::testing::Test {
protected:
    Training() : corpus_(write_corpus(folder_.path())) {}
    std::filesystem::path run(const std::string& name) const { return folder_.path() / name; }
    Plan plan(const std::string& preset) const { return small_plan(preset, corpus_); }

    TemporaryFolder folder_;
    std::filesystem::path corpus_;
};

/// The same global batch of 8, cut over ranks and micro-batches.
Plan split(Plan plan, std::int64_t ranks, std::int64_t accumulation) {
    plan.layout.dp = plan.cluster.gpus_per_node = ranks;
    plan.layout.accumulation = accumulation;
    plan.layout.micro_batch = 8 / ranks / accumulation;
    return plan;
}

void expect_same_training(const std::filesystem::path& a, const std::filesystem::path& b, int steps,
                          double norms_within = close_enough) {
    const auto store_a = recorded(a), store_b = recorded(b);
    EXPECT_EQ(values(store_a, series::loss).size(), static_cast<std::size_t>(steps));
    EXPECT_THAT(values(store_a, series::loss), Pointwise(DoubleNear(close_enough), values(store_b, series::loss)));
    EXPECT_THAT(values(store_a, series::grad_norm),
                Pointwise(DoubleNear(norms_within), values(store_b, series::grad_norm)));
    const auto weights_a = tensors_of(checkpoint(a, steps) / "model.safetensors");
    const auto weights_b = tensors_of(checkpoint(b, steps) / "model.safetensors");
    ASSERT_FALSE(weights_a.empty());
    ASSERT_EQ(weights_a.size(), weights_b.size());
    for (const auto& [name, tensor] : weights_a) {
        EXPECT_THAT(tensor, Pointwise(::testing::FloatNear(close_enough), weights_b.at(name))) << name;
    }
}

void expect_equal_bits(const std::filesystem::path& a, const std::filesystem::path& b, int steps) {
    for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
        EXPECT_TRUE(bytes_of(checkpoint(a, steps) / file) == bytes_of(checkpoint(b, steps) / file)) << file;
    }
}

class TwoRanks : public Training, public ::testing::WithParamInterface<const char*> {};

TEST_P(TwoRanks, EqualOneRankOnTheSameGlobalBatch) {
    train(run("one"), split(plan(GetParam()), 1, 1));
    train(run("two"), split(plan(GetParam()), 2, 1));
    expect_same_training(run("one"), run("two"), 6);
}

TEST_P(TwoRanks, AccumulateTwoMicroBatchesLikeOneOfTwiceTheSize) {
    train(run("one"), split(plan(GetParam()), 1, 1));
    train(run("one, accumulating"), split(plan(GetParam()), 1, 2));
    train(run("two, accumulating"), split(plan(GetParam()), 2, 2));
    expect_same_training(run("one"), run("one, accumulating"), 6);
    expect_same_training(run("one"), run("two, accumulating"), 6);
}

INSTANTIATE_TEST_SUITE_P(Families, TwoRanks, ::testing::Values("llama-tiny", "gpt2-tiny"), [](const auto& family) {
    return family.param == std::string("llama-tiny") ? "Llama" : "Gpt2";
});

TEST_F(Training, EveryLayoutIsTheSameTraining) {
    struct Case {
        const char* name;
        std::function<void(Layout&)> change;
    };
    const std::vector<Case> cases{
        {"tp", [](Layout& l) { l.tp = 2, l.sequence_parallel = true; }},
        {"pp", [](Layout& l) { l.pp = 2, l.schedule = Schedule::ZbH1; }},
        {"cp", [](Layout& l) { l.cp = 2; }},
        {"zero", [](Layout& l) { l.dp = 2, l.accumulation = 1, l.zero_stage = 3; }},
        {"all", [](Layout& l) { l.tp = l.pp = l.dp = 2, l.accumulation = 1, l.zero_stage = 1; }},
    };
    Plan one = plan("gpt2");
    one.layout.micro_batch = 2;
    one.layout.accumulation = 4;
    one.training.sample_every = 3;
    one.model.dropout = 0;
    train(run("one"), one);
    for (const Case& each : cases) {
        SCOPED_TRACE(each.name);
        Plan other = one;
        each.change(other.layout);
        other.layout.micro_batch = 2;
        other.layout.accumulation = 4 / other.layout.dp;
        other.cluster.gpus_per_node = other.layout.world_size();
        train(run(each.name), other);
        expect_same_training(run("one"), run(each.name), 6, /*norms_within=*/1e-4);  // of 2.5
        const auto recorded_one = recorded(run("one")), recorded_other = recorded(run(each.name));
        EXPECT_THAT(values(recorded_other, series::validation_loss),
                    Pointwise(DoubleNear(close_enough), values(recorded_one, series::validation_loss)));
        ASSERT_EQ(events_of(recorded_other, EventKind::Sample).size(), 2U);
        EXPECT_EQ(events_of(recorded_other, EventKind::Sample)[0].sentence,
                  events_of(recorded_one, EventKind::Sample)[0].sentence);
        EXPECT_EQ(events_of(recorded_other, EventKind::Pipeline).empty(), other.layout.pp == 1);
    }
}

TEST_F(Training, ARunGoesOnUnderAnotherLayout) {
    Plan whole = plan("llama-7b");
    whole.layout.micro_batch = 2;
    whole.layout.accumulation = 4;
    train(run("whole"), whole);
    // Three steps spread over two stages of two slices, three more over data-parallel ranks with ZeRO-2.
    Plan first = whole;
    first.layout.tp = first.layout.pp = 2;
    first.cluster.gpus_per_node = 4;
    first.training.checkpoint_every = 3;
    train(run("moved"), first);
    std::filesystem::remove_all(checkpoint(run("moved"), 6));
    Plan second = whole;
    second.layout.dp = second.cluster.gpus_per_node = 2;
    second.layout.accumulation = 2;
    second.layout.zero_stage = 2;
    train(run("moved"), second);
    const auto store = recorded(run("moved"));
    ASSERT_EQ(events_of(store, EventKind::Resume).size(), 1U);
    EXPECT_EQ(events_of(store, EventKind::Resume)[0].step, 3);
    const auto weights = tensors_of(checkpoint(run("moved"), 6) / "model.safetensors");
    for (const auto& [name, tensor] : tensors_of(checkpoint(run("whole"), 6) / "model.safetensors")) {
        EXPECT_THAT(weights.at(name), Pointwise(::testing::FloatNear(close_enough), tensor)) << name;
    }
}

TEST_F(Training, ATiedHeadIsAveragedOnce) {
    Plan tied = plan("llama-tiny");
    tied.model.preset.clear();
    tied.model.tied_head = true;
    train(run("one"), split(tied, 1, 1));
    train(run("two"), split(tied, 2, 1));
    expect_same_training(run("one"), run("two"), 6);
}

TEST_F(Training, TheBucketSizeChangesNothing) {
    Plan wide = plan("llama-tiny");
    wide.model.preset.clear();
    wide.model.vocab_size = 8192;  // embedding and head have 1 MiB each
    Plan buckets = split(wide, 2, 1);
    buckets.training.bucket_mib = 1;
    train(run("one"), split(wide, 1, 1));
    train(run("two, one bucket"), split(wide, 2, 1));
    train(run("two, many buckets"), buckets);
    expect_same_training(run("one"), run("two, one bucket"), 6);
    expect_same_training(run("one"), run("two, many buckets"), 6);
    EXPECT_EQ(events_of(recorded(run("two, one bucket")), EventKind::Start).at(0).details.at("buckets"), 1);
    EXPECT_GE(events_of(recorded(run("two, many buckets")), EventKind::Start).at(0).details.at("buckets").get<int>(),
              3);
}

TEST_F(Training, RecomputationChangesNoLossAndReplaysDropout) {
    Plan none = split(plan("gpt2-tiny"), 2, 2);
    none.model.preset.clear();
    none.model.dropout = 0.1;
    Plan selective = none, full = none;
    selective.layout.recompute = Recompute::Selective;
    full.layout.recompute = Recompute::Full;
    train(run("none"), none);
    train(run("selective"), selective);
    train(run("full"), full);
    expect_same_training(run("none"), run("selective"), 6);
    expect_same_training(run("none"), run("full"), 6);
}

TEST_F(Training, TheSameSeedGivesTheSameBits) {
    Plan seeded = split(plan("gpt2-tiny"), 2, 1);
    seeded.model.preset.clear();
    seeded.model.dropout = 0.1;
    Plan other = seeded;
    other.training.seed = 2;
    train(run("first"), seeded);
    train(run("again"), seeded);
    train(run("other"), other);
    expect_equal_bits(run("first"), run("again"), 6);
    EXPECT_NE(values(recorded(run("first")), series::loss), values(recorded(run("other")), series::loss));
}

// transformers PR 40691, DeepSpeed 6691: after a resume the moments, the rates and the order of the data are the old
// ones.
TEST_F(Training, AResumedRunEqualsAnUndisturbedOneBitForBit) {
    for (const char* dtype : {"fp32", "bf16", "fp16"}) {
        SCOPED_TRACE(dtype);
        Plan long_run = split(plan("gpt2-tiny"), 2, 2);
        long_run.model.preset.clear();
        long_run.model.dropout = 0.1;
        long_run.training.checkpoint_every = 3;
        long_run.numerics.dtype = dtype == std::string("fp32")   ? Dtype::Fp32
                                  : dtype == std::string("bf16") ? Dtype::Bf16
                                                                 : Dtype::Fp16;
        const auto undisturbed = run(std::string(dtype) + " undisturbed"),
                   resumed = run(std::string(dtype) + " resumed");
        train(undisturbed, long_run);
        std::filesystem::create_directories(RunLayout(resumed).checkpoints());
        std::filesystem::copy(checkpoint(undisturbed, 3), checkpoint(resumed, 3));
        train(resumed, long_run);

        expect_equal_bits(undisturbed, resumed, 6);
        const auto before = recorded(undisturbed), after = recorded(resumed);
        for (const char* series : {"loss", "lr", "loss_scale", "grad_norm"}) {
            auto rest = values(before, series);
            ASSERT_EQ(rest.size(), 6U) << series;
            rest.erase(rest.begin(), rest.begin() + 3);
            EXPECT_EQ(values(after, series), rest) << series;
        }
        EXPECT_EQ(after.find(series::loss)->step(0), 4U);
        ASSERT_EQ(events_of(after, EventKind::Resume).size(), 1U);
        EXPECT_EQ(events_of(after, EventKind::Resume)[0].details.at("resumed_from"), 3);
        EXPECT_EQ(events_of(after, EventKind::Resume)[0].details.at("samples"), 3 * 8);
    }
}

TEST_F(Training, EveryPrecisionRecipeIsResumedBitForBit) {
    struct Recipe {
        WeightCopies weights;
        Rounding rounding;
        OptimizerKind kind;
        Dtype states;
    };
    int number = 0;
    for (const Recipe& recipe :
         {Recipe{WeightCopies::Autocast, Rounding::Nearest, OptimizerKind::AdamW, Dtype::Fp32},
          Recipe{WeightCopies::Masters, Rounding::Nearest, OptimizerKind::AdamW, Dtype::Bf16},
          Recipe{WeightCopies::Pure, Rounding::Nearest, OptimizerKind::Sgd, Dtype::Bf16},
          Recipe{WeightCopies::Pure, Rounding::Stochastic, OptimizerKind::AdamW8bit, Dtype::Fp32},
          Recipe{WeightCopies::Pure, Rounding::Kahan, OptimizerKind::AdamW, Dtype::Bf16}}) {
        Plan long_run = split(plan("gpt2-tiny"), 2, 2);
        long_run.training.checkpoint_every = 3;
        long_run.layout.zero_stage = ++number % 4;
        long_run.numerics.dtype = Dtype::Bf16;
        long_run.numerics.weights = recipe.weights;
        long_run.numerics.rounding = recipe.rounding;
        long_run.optimizer.kind = recipe.kind;
        long_run.optimizer.state_dtype = recipe.states;
        const std::string name =
            fmt::format("{} {} {}", name_of(recipe.weights), name_of(recipe.rounding), name_of(recipe.kind));
        SCOPED_TRACE(name);
        const auto undisturbed = run(name + " undisturbed"), resumed = run(name + " resumed");
        train(undisturbed, long_run);
        std::filesystem::create_directories(RunLayout(resumed).checkpoints());
        std::filesystem::copy(checkpoint(undisturbed, 3), checkpoint(resumed, 3));
        train(resumed, long_run);
        expect_equal_bits(undisturbed, resumed, 6);
    }
}

TEST_F(Training, HalfPrecisionFollowsFp32) {
    const Plan fp32 = split(plan("llama-tiny"), 2, 1);
    train(run("fp32"), fp32);
    const auto expected = values(recorded(run("fp32")), series::loss);
    for (const Dtype dtype : {Dtype::Bf16, Dtype::Fp16}) {
        for (const bool fp32_gradients : {false, true}) {
            Plan half = fp32;
            half.numerics.dtype = dtype;
            half.numerics.fp32_gradients = fp32_gradients;
            half.numerics.initial_scale_power = 10;
            const auto name = run(fmt::format("{} {}", static_cast<int>(dtype), fp32_gradients));
            train(name, half);
            // bf16 has 8 significant bits: losses of about 5.5 agree to some hundredths.
            EXPECT_THAT(values(recorded(name), series::loss), Pointwise(DoubleNear(0.05), expected));
        }
    }
}

TEST_F(Training, RecordsWhatTheStudioShows) {
    Plan shown = split(plan("llama-tiny"), 2, 1);
    shown.training.validate_every = 3;
    shown.training.sample_every = 6;
    shown.training.checkpoint_every = 3;
    train(run("run"), shown);
    const auto store = recorded(run("run"), 2);
    for (const char* series :
         {"loss", "lr", "loss_scale", "grad_norm", "tokens_per_second", "step_time", "memory", "memory_peak",
          "memory_step_peak", "step_time@1", "memory@1", "memory_peak@1", "memory_step_peak@1"}) {
        const auto points = values(store, series);
        ASSERT_EQ(points.size(), 6U) << series;
        for (const double value : points) EXPECT_GT(value, 0) << series;
        EXPECT_EQ(store.find(series)->step(0), 1U) << series;
    }
    EXPECT_EQ(store.find("loss@1"), nullptr);
    const auto memory = events_of(store, EventKind::Memory);
    ASSERT_EQ(memory.size(), 2U) << "one a rank, of the second step";
    for (const Event& event : memory) {
        const auto peak = event.details["peak"].get<double>();
        double sum = 0;
        for (const auto& [name, bytes] : event.details["categories"].items()) sum += bytes.get<double>();
        EXPECT_NEAR(sum / peak, 1, 0.001);
        const Json& live = event.details["live_categories"];
        EXPECT_EQ(live["Parameters"], live["Gradients"]) << "fp32, no ZeRO";
        EXPECT_EQ(live["Optimizer + master"].get<Bytes>(), 2 * live["Parameters"].get<Bytes>()) << "Adam's moments";
        EXPECT_GT(event.details["categories"]["Activations"].get<Bytes>(), 0);
    }
    // Before the first update a byte is as likely as any other: ln 256.
    EXPECT_NEAR(values(store, series::loss)[0], std::log(256.0), 0.1);
    EXPECT_THAT(values(store, series::lr), ::testing::ElementsAre(5e-4, 1e-3, ::testing::_, ::testing::_, ::testing::_,
                                                                  ::testing::DoubleEq(1e-4)));
    for (const char* layer : {"embed", "0", "1", "head"}) {
        const auto points = values(store, std::string("grad_norm/") + layer);
        EXPECT_EQ(points.size(), 4U) << layer;  // steps 1, 2, 4, 6
    }
    double squares = 0;
    for (const char* layer : {"embed", "0", "1", "head"})
        squares += std::pow(values(store, std::string("grad_norm/") + layer).at(0), 2);
    EXPECT_NEAR(std::sqrt(squares), values(store, series::grad_norm)[0], 1e-6);
    EXPECT_EQ(values(store, series::validation_loss).size(), 2U);
    EXPECT_EQ(events_of(store, EventKind::Validation).size(), 2U);
    ASSERT_EQ(events_of(store, EventKind::Checkpoint).size(), 2U);
    EXPECT_GT(events_of(store, EventKind::Checkpoint)[0].details.at("bytes").get<int>(), 100'000);
    ASSERT_EQ(events_of(store, EventKind::Sample).size(), 1U);
    EXPECT_EQ(events_of(store, EventKind::Sample)[0].details.at("prompt"), shown.training.sample_prompt);
    EXPECT_EQ(events_of(store, EventKind::End).size(), 1U);
    // embedding and head 2 x 256 x 32; a layer: q and o 2 x 32 x 32, k and v 2 x 32 x 16, MLP 3 x 32 x 64, two norms
    const Event start = events_of(store, EventKind::Start).at(0);
    EXPECT_EQ(start.details.at("parameters"),
              2 * 256 * 32 + 2 * (2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 64 + 2 * 32) + 32);
    EXPECT_EQ(start.details.at("world_size"), 2);
    EXPECT_EQ(start.details.at("corpus"), "corpus.txt");
}

TEST_F(Training, RanksWithOtherTextsAreToldOnEveryRank) {
    // The same plan on machines whose bundled corpus differs in one byte.
    Plan shared = split(plan("llama-tiny"), 2, 1);
    shared.data.path = "bible-kjv";
    const std::string text = bytes_of(corpus_);
    std::vector<std::filesystem::path> folders;
    for (const int machine : {0, 1}) {
        folders.push_back(folder_.path() / fmt::format("machine-{}", machine));
        std::filesystem::create_directories(folders.back());
        std::string own = text;
        own[own.size() / 2] = static_cast<char>(own[own.size() / 2] ^ machine);
        ASSERT_TRUE(write_file_atomic(folders.back() / "bible-kjv.txt", own));
    }
    const auto refused = [&](const std::string& name, const std::filesystem::path& second) {
        write_plan(run(name), shared);
        Ranks ranks(run(name), 2, {},
                    {{{"PLIMSOLL_CORPUS", folders[0].string()}}, {{"PLIMSOLL_CORPUS", second.string()}}});
        EXPECT_THAT(ranks.wait(), ::testing::ElementsAre(2, 2));
        return std::vector{ranks.rank(0).last_line(), ranks.rank(1).last_line()};
    };
    for (const std::string& line : refused("other", folders[1])) {
        EXPECT_THAT(line, HasSubstr("rank 1 has read another text than rank 0: 8,19"));
        EXPECT_THAT(line, HasSubstr("on rank 0; put the same text on every machine"));
    }
    const auto missing = refused("missing", folder_.path());
    EXPECT_THAT(missing[0], HasSubstr("rank 1 could not read what the run trains on"));
    EXPECT_THAT(missing[1], HasSubstr("which holds no bible-kjv.txt"));
}

TEST_F(Training, ATextReplacedBeforeAResumeIsNoticed) {
    Plan shared = split(plan("llama-tiny"), 2, 1);
    shared.training.checkpoint_every = 3;
    train(run("run"), shared);
    std::string text = bytes_of(corpus_);
    text[text.size() / 2] ^= 1;
    ASSERT_TRUE(write_file_atomic(corpus_, text));
    shared.training.steps = 9;
    write_plan(run("run"), shared);
    Ranks ranks(run("run"), 2);
    EXPECT_THAT(ranks.wait(), ::testing::ElementsAre(2, 2));
    for (const int rank : {0, 1}) {
        EXPECT_THAT(ranks.rank(rank).last_line(), HasSubstr("is not the text that the run was trained on"));
    }
}

TEST_F(Training, AFinishedRunSaysItsLastLossAgain) {
    const Plan once = split(plan("llama-tiny"), 2, 1);
    train(run("run"), once);
    train(run("run"), once);
    const auto ends = events_of(recorded(run("run")), EventKind::End);
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_EQ(ends[1].sentence, ends[0].sentence);
    EXPECT_EQ(ends[1].sentence, fmt::format("Finished 6 steps; the last loss was {:.3f}.",
                                            values(recorded(run("run")), series::loss)[5]));
}

TEST_F(Training, ARunWithoutAWholeCheckpointIsNoFreshOne) {
    const Plan once = split(plan("llama-tiny"), 2, 1);
    train(run("run"), once);
    ASSERT_TRUE(write_file_atomic(checkpoint(run("run"), 6) / "model.safetensors", "torn"));
    Ranks ranks(run("run"), 2);
    EXPECT_THAT(ranks.wait(), ::testing::ElementsAre(2, 2));
    for (const int rank : {0, 1}) EXPECT_THAT(ranks.rank(rank).last_line(), HasSubstr("--from-scratch"));
}

TEST_F(Training, AddedStepsThatMakeTheRateJumpAreTold) {
    Plan once = split(plan("llama-tiny"), 1, 1);
    train(run("run"), once);
    once.training.steps = 12;
    train(run("run"), once);
    const auto resumed = events_of(recorded(run("run")), EventKind::Resume);
    ASSERT_EQ(resumed.size(), 1U);
    EXPECT_THAT(resumed[0].sentence, HasSubstr("The learning rate jumps from 0.0001 to "));
    EXPECT_THAT(resumed[0].sentence, HasSubstr("since the run has 12 steps now and had 6"));
}

TEST_F(Training, ClipsTheGlobalNormOnce) {
    // accelerate 641: clipping each micro-batch or each rank would weigh their gradients differently. The recorded norm
    // is the one before clipping.
    Plan clipped = split(plan("llama-tiny"), 2, 2);
    clipped.optimizer.clip = 1e-3;
    train(run("one"), split(clipped, 1, 1));
    train(run("two"), clipped);
    expect_same_training(run("one"), run("two"), 6);
    EXPECT_GT(values(recorded(run("two")), series::grad_norm)[0], 1e-2);
}

}  // namespace
}  // namespace plimsoll::testing
