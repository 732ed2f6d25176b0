// SPDX-License-Identifier: Apache-2.0
// Faults put into runs of two ranks: found at their step, named, answered on both ranks, and outlived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/telemetry/contract/run_layout.h"
#include "tests/support/run_harness.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t steps = 60, bad_step = 40;

class Guarded : public ::testing::Test {
protected:
    Guarded() : corpus_(write_corpus(folder_.path())) {}

    Plan plan() const {
        Plan plan = small_plan("llama-tiny", corpus_);
        plan.layout.dp = plan.cluster.gpus_per_node = 2;
        plan.layout.micro_batch = 4;
        plan.training.steps = steps;
        plan.training.validate_every = steps;
        plan.data.validation_fraction = 0.2;
        plan.optimizer.lr = 5e-3;
        plan.guard.every = 1;
        plan.guard.warmup = 10;
        plan.guard.threshold = 8;
        return plan;
    }
    std::filesystem::path run(const std::string& name) const { return folder_.path() / name; }

    /// Exit codes of the ranks.
    std::vector<int> start(const std::string& name, const Plan& plan, const std::string& faults) {
        write_plan(run(name), plan);
        std::vector<std::string> arguments;
        if (!faults.empty()) arguments = {"--inject", faults};
        Ranks ranks(run(name), static_cast<int>(plan.layout.world_size()), arguments);
        std::vector<int> codes = ranks.wait();
        last_line_ = ranks.rank(0).last_line();
        return codes;
    }
    SeriesStore finish(const std::string& name, const Plan& plan, const std::string& faults) {
        const auto codes = start(name, plan, faults);
        for (const int code : codes) EXPECT_EQ(code, 0) << last_line_;
        return recorded(run(name), static_cast<int>(plan.layout.world_size()));
    }
    /// Over the validation part: a fault moves the batches of the steps behind it.
    static double last_loss(const SeriesStore& store) {
        const auto losses = values(store, series::validation_loss);
        return losses.empty() ? std::nan("") : losses.back();
    }
    /// Of the same plan without the fault.
    double clean_loss(const Plan& plan) { return last_loss(finish("clean", plan, "")); }
    static void expect_alike(const SeriesStore& store) {
        EXPECT_EQ(values(store, series::step_time).size(), values(store, "step_time@1").size())
            << "both ranks took all steps";
    }

    TemporaryFolder folder_;
    std::filesystem::path corpus_;
    std::string last_line_;
};

std::vector<Event> only(const SeriesStore& store, EventKind kind, std::size_t count) {
    auto events = events_of(store, kind);
    EXPECT_EQ(events.size(), count) << name_of(kind);
    for (const Event& event : store.events()) {
        if (events.size() != count) ADD_FAILURE() << event.step << " " << event.kind.name() << ": " << event.sentence;
    }
    events.resize(count);
    return events;
}

TEST_F(Guarded, NanInTheForwardIsFoundInItsLayerAndLeftOut) {
    const SeriesStore store = finish("nan", plan(), "nan@step=40,layer=1");
    const Event event = only(store, EventKind::Nonfinite, 1)[0];
    EXPECT_EQ(event.step, 40U);
    EXPECT_EQ(event.details.at("layer"), "1");
    EXPECT_EQ(event.details.at("pass"), "forward");
    EXPECT_THAT(event.sentence, HasSubstr("the first NaN was in layer 1 (the output of layer 1), in the forward pass"));
    EXPECT_THAT(event.sentence, HasSubstr("skipped on all ranks"));
    expect_alike(store);
    EXPECT_EQ(values(store, series::loss).size(), static_cast<std::size_t>(steps + 1)) << "step 40 twice";
    EXPECT_LT(last_loss(store), clean_loss(plan()) * 1.02);
}

TEST_F(Guarded, InfinityInTheBackwardIsFoundInItsTensor) {
    Plan layered = plan();
    layered.layout.zero_stage = 2;
    const SeriesStore store = finish("inf", layered, "inf@step=40,layer=0,where=backward");
    const Event event = only(store, EventKind::Nonfinite, 1)[0];
    EXPECT_EQ(event.step, 40U);
    EXPECT_EQ(event.details.at("layer"), "0");
    EXPECT_EQ(event.details.at("pass"), "backward");
    EXPECT_THAT(event.details.at("tensor").get<std::string>(), HasSubstr("layers.0."));
    EXPECT_LT(last_loss(store), clean_loss(layered) * 1.02);
}

TEST_F(Guarded, NanIsFoundAcrossPipelineStages) {
    Plan piped = plan();
    piped.layout.dp = 1;
    piped.layout.pp = 2;
    piped.layout.micro_batch = 4;
    piped.layout.accumulation = 2;
    for (const char* where : {"forward", "backward"}) {
        const SeriesStore store = finish(where, piped, std::string("nan@step=40,layer=1,where=") + where);
        const Event event = only(store, EventKind::Nonfinite, 1)[0];
        EXPECT_EQ(event.details.at("layer"), "1");
        EXPECT_EQ(event.details.at("pass"), where);
    }
}

struct Response {
    const char* action;
    bool Guard::*flag;
    bool applied;
};

class Spikes : public Guarded, public ::testing::WithParamInterface<Response> {};

TEST_P(Spikes, AreAnsweredAndOutlived) {
    Plan guarded = plan();
    guarded.optimizer.clip = 0;
    guarded.guard.*GetParam().flag = true;
    const SeriesStore store = finish("spike", guarded, "spike@step=40,factor=1000");
    const Event event = only(store, EventKind::Spike, 1)[0];
    EXPECT_EQ(event.step, 40U);
    EXPECT_EQ(event.details.at("action"), GetParam().action);
    EXPECT_THAT(event.sentence, StartsWith("Step 40: the gradient norm "));
    expect_alike(store);
    EXPECT_EQ(values(store, series::loss).size(), static_cast<std::size_t>(GetParam().applied ? steps : steps + 1));
    EXPECT_LT(last_loss(store), clean_loss(guarded) * 1.02);
}

INSTANTIATE_TEST_SUITE_P(All, Spikes,
                         ::testing::Values(Response{"clip", &Guard::clip, true}, Response{"skip", &Guard::skip, false}),
                         [](const auto& each) { return each.param.action; });

TEST_F(Guarded, ACutHoldsForTheRestOfTheRun) {
    Plan guarded = plan();
    guarded.guard.cut_lr = true;
    guarded.optimizer.lr = 2e-2;
    guarded.lr.kind = LrKind::Constant;  // with no fall of its own at the end
    const SeriesStore store = finish("cut", guarded, "spike@step=40,factor=1000");
    EXPECT_EQ(only(store, EventKind::Spike, 1)[0].details.at("lr_factor"), 0.8);
    const SeriesStore clean = finish("clean", guarded, "");
    const auto cut = values(store, series::lr), usual = values(clean, series::lr);
    ASSERT_EQ(cut.size(), usual.size());
    for (std::size_t i = 0; i < cut.size(); ++i) EXPECT_DOUBLE_EQ(cut[i], usual[i] * (i + 1 >= 40 ? 0.8 : 1)) << i;
    EXPECT_LT(last_loss(store), last_loss(clean) * 1.02);
}

TEST_F(Guarded, ACheckpointHoldsTheStateBeforeTheSpike) {
    Plan guarded = plan();
    guarded.guard.checkpoint = true;
    const SeriesStore store = finish("save", guarded, "spike@step=40,factor=1000");
    EXPECT_EQ(only(store, EventKind::Spike, 1)[0].details.at("action"), "checkpoint");
    EXPECT_TRUE(std::filesystem::exists(checkpoint(run("save"), 39) / "model.safetensors"));
    EXPECT_LT(last_loss(store), clean_loss(guarded) * 1.02);
}

TEST_F(Guarded, ARollbackIsAForkWithoutTheBatchAtFault) {
    Plan guarded = plan();
    guarded.guard.rollback = true;
    guarded.training.checkpoint_every = 30;
    // The batch is bad whenever it is met: only leaving it out helps.
    const SeriesStore store = finish("back", guarded, "nan@step=40,layer=0");
    const Event found = only(store, EventKind::Nonfinite, 1)[0], back = only(store, EventKind::Rollback, 1)[0];
    EXPECT_EQ(found.step, 40U);
    EXPECT_EQ(found.details.at("action"), "roll_back");
    EXPECT_EQ(back.step, 30U);
    EXPECT_EQ(back.details.at("from"), 40);
    EXPECT_EQ(back.details.at("to"), 30);
    EXPECT_EQ(back.details.at("samples"), 39 * 8);
    expect_alike(store);
    EXPECT_EQ(values(store, series::loss).size(), static_cast<std::size_t>(steps)) << "one whole branch";
    ASSERT_EQ(store.branches(series::loss).size(), 1U);
    EXPECT_EQ(store.branches(series::loss)[0].size(), 10U) << "steps 31 to 40 stay as the branch that was left";
    EXPECT_LT(last_loss(store), clean_loss(guarded) * 1.02);
}

TEST_F(Guarded, ARollbackThatComesBackTakesTheCheckpointBefore) {
    Plan guarded = plan();
    guarded.guard.rollback = true;
    guarded.training.checkpoint_every = 15;
    guarded.training.keep_checkpoints = 5;
    const SeriesStore store = finish("back", guarded, "nan@step=40,layer=0,batches=2");
    const auto back = only(store, EventKind::Rollback, 2);
    EXPECT_EQ(back[0].details.at("to"), 30);
    EXPECT_EQ(back[1].details.at("to"), 15) << "30 led here twice";
    EXPECT_TRUE(std::filesystem::exists(RunLayout(run("back")).left_checkpoint(30)));
    EXPECT_TRUE(std::filesystem::exists(checkpoint(run("back"), 30))) << "the new branch has its own";
    EXPECT_EQ(values(store, series::loss).size(), static_cast<std::size_t>(steps));
    EXPECT_LT(last_loss(store), clean_loss(guarded) * 1.02);
    // Whoever resumes from here knows which batches to leave out.
    const auto state = read_json(checkpoint(run("back"), steps) / "state.json").value();
    EXPECT_EQ(state.at("left_out"), Json::array({39 * 8, 40 * 8}));
}

TEST_F(Guarded, RollbacksThatDoNotHelpEndTheRun) {
    Plan guarded = plan();
    guarded.guard.rollback = true;
    guarded.guard.max_rollbacks = 2;
    const auto codes = start("hopeless", guarded, "nan@step=5,layer=0,batches=1000");
    EXPECT_THAT(codes, ::testing::Each(1));
    EXPECT_THAT(last_line_, HasSubstr("step 5 is as bad after 2 rollbacks"));
}

TEST_F(Guarded, OutOfMemoryEndsTheRunWithItsReason) {
    const auto codes = start("oom", plan(), "oom@step=3,rank=0");
    EXPECT_EQ(codes[0], 1);
    EXPECT_THAT(last_line_, HasSubstr("memory"));
}

TEST_F(Guarded, ASlowRankIsSeenInItsOwnTime) {
    Plan quick = plan();
    quick.training.steps = 10;
    const SeriesStore store = finish("slow", quick, "slow-rank@step=5,rank=1,ms=80");
    const auto times = values(store, "step_time@1");
    EXPECT_GT(times.at(7), 0.08);
    EXPECT_EQ(values(store, series::loss).size(), 10U);
}

class Scaled : public Guarded, public ::testing::WithParamInterface<LossScalePolicy> {};

// 2^30 overflows fp16 with any loss: a static scale learns nothing, each policy comes down and learns.
TEST_P(Scaled, Fp16ConvergesFromAScaleThatIsTooHigh) {
    Plan half = plan();
    half.numerics.dtype = Dtype::Fp16;
    half.numerics.loss_scale = std::exp2(30);
    EXPECT_THAT(start("static", half, ""), ::testing::Contains(1));
    EXPECT_THAT(last_line_, HasSubstr("overflowed 10 steps in a row"));

    half.numerics.loss_scale = 0;
    half.numerics.loss_scale_policy = GetParam();
    half.numerics.initial_scale_power = 30;
    half.numerics.loss_scale_check_every = 10;
    const SeriesStore store = finish("dynamic", half, "overflow@step=30");
    EXPECT_GT(events_of(store, EventKind::Overflow).size(), 5U);
    const auto overflows = events_of(store, EventKind::Overflow);
    EXPECT_TRUE(std::any_of(overflows.begin(), overflows.end(), [](const Event& each) { return each.step == 30; }));
    const auto rates = values(store, series::lr), scales = values(store, series::loss_scale);
    EXPECT_EQ(rates.front(), rates.at(5)) << "the schedule waits while updates are skipped";
    EXPECT_LT(scales.back(), std::exp2(30));
    // Some twenty skipped batches move those behind them, which alone changes the end by 3 % here.
    EXPECT_LT(last_loss(store), clean_loss(plan()) * 1.05);
}

INSTANTIATE_TEST_SUITE_P(All, Scaled,
                         ::testing::Values(LossScalePolicy::DeepSpeed, LossScalePolicy::PyTorch,
                                           LossScalePolicy::Guide),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace plimsoll::testing
