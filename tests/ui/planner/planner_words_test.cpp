// SPDX-License-Identifier: GPL-3.0-or-later
// What a person types into the Planner page, and what it says about layouts.
#include <gtest/gtest.h>

#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "ui/common/value_format.h"
#include "ui/planner/candidate_words.h"
#include "ui/planner/planner_field.h"
#include "ui/planner/planner_model.h"
#include "ui/waterline/time_parts.h"

namespace plimsoll::ui {
namespace {

QString problemOf(PlannerField field, const char* typed) {
    PlanRequest request;
    const Result<void> done = readPlannerField(field, QString::fromUtf8(typed), request);
    return done ? QString() : QString::fromStdString(done.error().message);
}

TEST(PlannerField, ValuesAreListsOrAny) {
    PlanRequest request;
    ASSERT_TRUE(readPlannerField(PlannerField::Tp, QStringLiteral(" 8,2; 4 2"), request));
    EXPECT_EQ(request.choices.tp, (std::vector<std::int64_t>{2, 4, 8}));
    EXPECT_EQ(plannerFieldText(request, PlannerField::Tp), QStringLiteral("2, 4, 8"));
    for (const char* any : {"any", "ANY", "", "  "}) {
        ASSERT_TRUE(readPlannerField(PlannerField::Tp, QString::fromLatin1(any), request));
        EXPECT_TRUE(request.choices.tp.empty());
    }
    EXPECT_EQ(plannerFieldText(request, PlannerField::Tp), QStringLiteral("any"));
    for (const char* bad : {"0", "-1", "2.5", "two", "1, x", "99999999999999999999"})
        EXPECT_FALSE(problemOf(PlannerField::Pp, bad).isEmpty()) << bad;
}

TEST(PlannerField, AmountsTakeTheLettersOfTokensAndRefuseNonsense) {
    PlanRequest request;
    for (const auto& [typed, tokens] : {std::pair{"300B", 3e11}, {"2T", 2e12}, {"1.5 t", 1.5e12}, {"1,000,000", 1e6}}) {
        ASSERT_TRUE(readPlannerField(PlannerField::Tokens, QString::fromLatin1(typed), request)) << typed;
        EXPECT_DOUBLE_EQ(request.tokens, tokens) << typed;
    }
    EXPECT_EQ(plannerFieldText(request, PlannerField::Tokens), QStringLiteral("1M"));
    ASSERT_TRUE(readPlannerField(PlannerField::Headroom, QStringLiteral("5 %"), request));
    EXPECT_DOUBLE_EQ(request.headroom, 0.05);
    EXPECT_EQ(plannerFieldText(request, PlannerField::FitProbability), QStringLiteral("95 %"));
    ASSERT_TRUE(readPlannerField(PlannerField::FitProbability, QStringLiteral("80 %"), request));
    EXPECT_DOUBLE_EQ(request.fit_probability, 0.8);
    ASSERT_TRUE(readPlannerField(PlannerField::FitProbability, QString(), request));
    EXPECT_DOUBLE_EQ(request.fit_probability, default_fit_probability);
    ASSERT_TRUE(readPlannerField(PlannerField::HostMemory, QStringLiteral("512 GiB"), request));
    EXPECT_EQ(request.host_memory, 512 * GiB);
    EXPECT_EQ(plannerFieldText(request, PlannerField::HostMemory), QStringLiteral("512"));
    ASSERT_TRUE(readPlannerField(PlannerField::GlobalBatch, QStringLiteral("1,536"), request));
    EXPECT_EQ(request.global_batch, 1536);
    const PlanRequest before = request;
    for (const auto& [field, bad] : {std::pair{PlannerField::Headroom, "100"},
                                     {PlannerField::FitProbability, "0.95"},
                                     {PlannerField::FitProbability, "100"},
                                     {PlannerField::HostMemory, "-1"},
                                     {PlannerField::Headroom, "-1"},
                                     {PlannerField::GlobalBatch, "0"},
                                     {PlannerField::GlobalBatch, "1.5"},
                                     {PlannerField::Price, "-2"},
                                     {PlannerField::Tokens, "nan"},
                                     {PlannerField::Price, "1e9"}})
        EXPECT_FALSE(readPlannerField(field, QString::fromLatin1(bad), request)) << bad;
    EXPECT_EQ(request.global_batch, before.global_batch);
    EXPECT_EQ(request.headroom, before.headroom);
}

TEST(PlannerField, BoxesStandForTheSearchsOwnDefaults) {
    PlanRequest request;
    std::vector<bool> schedules = plannerSetAllowed(request, PlannerSet::Schedule);
    EXPECT_FALSE(schedules[static_cast<std::size_t>(Schedule::Zb1p)]) << "its lists have to be searched for";
    schedules[static_cast<std::size_t>(Schedule::GPipe)] = false;
    ASSERT_TRUE(allowPlannerSet(PlannerSet::Schedule, schedules, request));
    EXPECT_EQ(request.choices.schedule.size(), schedule_names.size() - 3);
    schedules[static_cast<std::size_t>(Schedule::GPipe)] = true;
    ASSERT_TRUE(allowPlannerSet(PlannerSet::Schedule, schedules, request));
    EXPECT_TRUE(request.choices.schedule.empty()) << "all of the default is no constraint";
    ASSERT_TRUE(allowPlannerSet(PlannerSet::SequenceParallel, {false, true}, request));
    EXPECT_EQ(request.choices.sequence_parallel, std::vector<bool>{true});
    EXPECT_FALSE(allowPlannerSet(PlannerSet::Recompute, std::vector<bool>(recompute_names.size(), false), request));
    EXPECT_TRUE(request.choices.recompute.empty());
}

TEST(PlannerModel, OnlyWhatTheSearchDoesNotSeekIsAnotherQuestion) {
    const Plan plan = plan_from_argument("llama-2-70b-64xh100")->plan;
    const Plan other =
        *with_settings(plan, {"layout.tp=4", "layout.pp=4", "layout.zero_stage=2", "layout.recompute=full"});
    EXPECT_TRUE(sameQuestion(plan, other));
    EXPECT_FALSE(sameQuestion(plan, *with_settings(plan, {"layout.accumulation=7"}))) << "another global batch";
    EXPECT_FALSE(sameQuestion(plan, *with_settings(plan, {"data.sequence_length=8192"})));
    EXPECT_FALSE(sameQuestion(plan, *with_settings(plan, {"cluster.nodes=4"})));
    EXPECT_FALSE(sameQuestion(plan, *with_settings(plan, {"layout.loss_chunks=4"}))) << "the search leaves it as it is";
}

TEST(CandidateWords, ALayoutIsToldBesideThePlans) {
    const Plan plan = plan_from_argument("llama-2-70b-64xh100")->plan;
    const LayoutFigures present = figuresOfPlan(plan);
    ASSERT_TRUE(present.step && present.memory);
    EXPECT_EQ(besideWords(present, present), QStringLiteral("This is the plan's layout."));
    const LayoutFigures full = figuresOfPlan(*with_settings(plan, {"layout.recompute=full"}));
    const QString words = besideWords(present, full);
    EXPECT_TRUE(words.contains(QStringLiteral("slower than the plan's layout"))) << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral("more recomputation"))) << words.toStdString();
    // Slower by as much as its step is longer, as among the neighbours of the best.
    EXPECT_TRUE(words.startsWith(percentText(full.step->step / present.step->step - 1) + QStringLiteral(" slower")))
        << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral("less on the fullest rank"))) << words.toStdString();
    // The words of a bar are the parts of the step.
    double sum = 0;
    for (const TimeShare& each : timeShares(full.step->time)) sum += each.share;
    EXPECT_NEAR(sum, 1, 1e-9);
    PlanRequest request;
    EXPECT_TRUE(budgetWords(request, present).isEmpty());
    request.tokens = 1e12;
    request.price_per_gpu_hour = 2;
    EXPECT_TRUE(budgetWords(request, present).contains(QStringLiteral("GPU-hours, price")));
}

}  // namespace
}  // namespace plimsoll::ui
