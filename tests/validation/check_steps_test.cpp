// SPDX-License-Identifier: Apache-2.0
// The model against what others published: these figures are promised. Each bound is the measured value and about a
// tenth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/validation/check_steps.h"

namespace plimsoll {
namespace {

/// Empty where something failed.
std::vector<StepCheck> checked(const Result<std::string>& text) {
    const auto table = text ? read_csv(*text) : tl::unexpected(text.error());
    const auto rows = table ? read_step_rows(*table) : tl::unexpected(table.error());
    auto checks = rows ? check_steps(*rows) : tl::unexpected(rows.error());
    EXPECT_TRUE(checks) << checks.error().message;
    return checks ? *std::move(checks) : std::vector<StepCheck>{};
}

std::vector<StepCheck> table_of(const char* name) {
    return checked(read_file(std::string(PLIMSOLL_SOURCE_DIR "/resources/validation/") + name));
}

TEST(PublishedSteps, OneNode) {
    const auto summary = summarize(table_of("vtrain-step-times-single.csv"));
    EXPECT_EQ(summary.rows, 729u);
    EXPECT_LT(summary.mean_error, 0.084) << "vTrain's own, which profiles the GPU";
    EXPECT_LT(summary.mean_regret, 0.037);
}

TEST(PublishedSteps, ManyNodes) {
    const auto summary = summarize(table_of("vtrain-step-times-multi.csv"));
    EXPECT_EQ(summary.rows, 51u);
    EXPECT_LT(summary.mean_error, 0.080) << "vTrain's own is 0.147";
    EXPECT_LT(summary.mean_regret, 0.035);
}

TEST(PublishedSteps, FullySharded) {
    const auto summary = summarize(table_of("fsdp-step-times.csv"));
    EXPECT_EQ(summary.rows, 129u);
    EXPECT_LT(summary.mean_error, 0.172);
    EXPECT_LT(summary.median_error, 0.133);
}

TEST(PublishedSteps, MegatronAndLlama) {
    const auto all = checked(published_step_times());
    std::vector<StepCheck> megatron, llama;
    for (const auto& check : all) {
        if (check.row.name.starts_with("Megatron")) megatron.push_back(check);
        if (check.row.name.starts_with("Llama 3 405B")) llama.push_back(check);
    }
    ASSERT_EQ(megatron.size(), 24u);
    ASSERT_EQ(llama.size(), 3u);
    EXPECT_LT(summarize(megatron).median_error, 0.0405);
    EXPECT_LT(summarize(megatron).mean_error, 0.0445);
    EXPECT_LT(summarize(llama).median_error, 0.041);
}

TEST(PublishedSteps, MetricsAreTurnedIntoSeconds) {
    const auto row = [](const char* metric, double value) {
        const auto table =
            read_csv(fmt::format("name,preset,settings,metric,value\nx,llama-7b,cluster.gpu=A100 SXM4 "
                                 "80GB;cluster.gpus_per_node=2;data.sequence_length=1024,{},{}\n",
                                 metric, value));
        const auto rows = read_step_rows(*table);
        EXPECT_TRUE(rows) << rows.error().message;
        return rows ? rows->front().truth : 0;
    };
    EXPECT_EQ(row("seconds", 3), 3);
    EXPECT_DOUBLE_EQ(row("tokens_per_second_per_gpu", 512), 16 * 1024 / 512.0 / 2);
    EXPECT_GT(row("model_tflops", 100), row("causal_model_tflops", 100));
}

TEST(PublishedSteps, BadTablesAreNamed) {
    const auto refused = [](const std::string& text) {
        const auto table = read_csv(text);
        if (!table) return table.error().message;
        const auto rows = read_step_rows(*table);
        return rows ? std::string() : rows.error().message;
    };
    const std::string head =
        "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data "
        "parallelism,pipeline parallelism,iteration time (ms)\n";
    EXPECT_EQ(refused(head + "2,16,8,1024,16,24,1024,1,1,2,372.1\n"), "");
    EXPECT_THAT(refused("a,b\n1,2\n"), testing::HasSubstr("there is no column \"# GPUs\""));
    EXPECT_THAT(refused(head + "2,16,8,1024,16,24,1024,1,1,2,fast\n"), testing::HasSubstr("line 2: \"fast\""));
    EXPECT_THAT(refused(head + "2,16,8,1024,16,24,1024,1,1,2,0\n"), testing::HasSubstr("above 0"));
    EXPECT_THAT(refused(head + "2,15,8,1024,16,24,1024,1,1,2,3\n"), testing::HasSubstr("not a multiple"));
    EXPECT_THAT(refused(head + "2,16,8,1024,16,24,1024,3,1,2,3\n"), testing::HasSubstr("layout"));
    EXPECT_THAT(refused("name,preset,settings,metric,value\nx,llama-7c,,seconds,1\n"), testing::HasSubstr("llama-7"));
    EXPECT_THAT(
        refused(
            "name,preset,settings,metric,value\nx,llama-7b,cluster.gpu=A100 SXM4 80GB;cluster.gpus_per_node=2,hours,1\n"),
        testing::HasSubstr("\"hours\" is not one of"));
}

}  // namespace
}  // namespace plimsoll
