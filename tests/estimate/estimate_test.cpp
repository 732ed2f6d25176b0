// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/plans.h"

namespace plimsoll {
namespace {

TEST(Estimate, EveryTermOfEveryPlanHasFormulaAndSource) {
    for (const auto& preset : model_preset_names())
        for (const auto& recompute : recompute_names)
            for (const auto* zero : {"0", "1", "2", "3"}) {
                const auto estimate = estimated(
                    gpu_plan(preset, {"layout.dp=2", std::string("layout.zero_stage=") + zero,
                                      "layout.recompute=" + std::string(recompute), "data.sequence_length=64"}));
                for (const auto& stage : estimate.stages)
                    for (const auto& term : stage.terms) {
                        EXPECT_FALSE(term.formula.empty()) << preset << " " << term.key;
                        EXPECT_FALSE(term.source.empty()) << preset << " " << term.key;
                        EXPECT_FALSE(term.name.empty()) << preset << " " << term.key;
                        EXPECT_GE(term.bytes, 0) << preset << " " << term.key;
                    }
            }
}

TEST(Estimate, CategoriesAddUpToTheTotal) {
    for (const auto& stage : estimated(gpu_plan("llama-2-70b", {"layout.tp=8", "layout.pp=4", "layout.accumulation=8",
                                                                "layout.sequence_parallel=true"}))
                                 .stages) {
        Bytes sum = 0;
        for (std::size_t c = 0; c < category_names.size(); ++c) sum += stage.of(static_cast<Category>(c));
        EXPECT_EQ(sum, stage.total());
    }
}

TEST(Estimate, StagesHoldWhatTheirScheduleKeepsInFlight) {
    const auto in_flight = [](const std::string& schedule) {
        std::vector<std::int64_t> counts;
        for (const auto& stage :
             estimated(gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8", "layout.schedule=" + schedule}))
                 .stages)
            counts.push_back(stage.in_flight);
        return counts;
    };
    EXPECT_THAT(in_flight("1f1b"), testing::ElementsAre(4, 3, 2, 1));
    EXPECT_THAT(in_flight("gpipe"), testing::ElementsAre(8, 8, 8, 8));
    EXPECT_THAT(in_flight("zb-h1"), testing::ElementsAre(4, 4, 4, 4));
    EXPECT_THAT(in_flight("zb-h2"), testing::ElementsAre(7, 7, 7, 7));
    EXPECT_THAT(in_flight("zb-v"), testing::ElementsAre(4, 4, 4, 4));
}

// Narayanan et al. 2021: p + (p - 1) / v micro-batches on the first rank; 4 + 3 / 2 with 2 chunks, 11 half layers'
// worth.
TEST(Estimate, ChunksCountForTheirPart) {
    const auto stages = estimated(gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8",
                                                        "layout.schedule=interleaved-1f1b", "layout.chunks=2"}))
                            .stages;
    EXPECT_EQ(stages.at(0).alive, 11);
    EXPECT_EQ(stages.at(0).chunks, 2);
    EXPECT_EQ(stages.at(0).layers, 8);
    EXPECT_EQ(bytes_of_term(stages.at(0), "activations"), 11 * 4 * stages.at(0).activations_per_layer);
}

// A folded model has its embedding and its head on the first rank.
TEST(Estimate, TheHeadOfAVIsOnTheFirstRank) {
    const auto stages =
        estimated(gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8", "layout.schedule=zb-v"})).stages;
    const std::int64_t table = 32000 * 4096, norm = 4096, layer = stages.at(1).parameters / 8;
    EXPECT_EQ(stages.at(0).parameters, 2 * table + norm + 8 * layer);
    EXPECT_EQ(stages.at(3).parameters, 8 * layer);
    EXPECT_NE(stages.at(0).find("logits_and_loss"), nullptr);
    EXPECT_EQ(stages.at(3).find("logits_and_loss"), nullptr);
}

TEST(Estimate, ActivationsGrowWithMicroBatchesInFlight) {
    const auto stages = estimated(gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8"})).stages;
    EXPECT_EQ(bytes_of_term(stages.at(0), "activations"), 4 * 8 * stages.at(0).activations_per_layer);
    EXPECT_EQ(bytes_of_term(stages.at(3), "activations"), 1 * 8 * stages.at(3).activations_per_layer);
    // Accumulation without a pipeline keeps one micro-batch at a time.
    EXPECT_EQ(
        estimated(gpu_plan("llama-7b", {"layout.accumulation=8", "layout.schedule=gpipe"})).stages.at(0).in_flight, 1);
}

TEST(Estimate, RecomputationModesAreWhatTheirPlansSay) {
    for (const auto* preset : {"llama-7b", "gpt2", "mixtral-8x7b", "t5-11b"})
        for (const auto* attention : {"eager", "flash"})
            for (std::size_t mode = 0; mode < recompute_names.size(); ++mode) {
                const auto rank =
                    estimated(gpu_plan(preset, {std::string("numerics.attention=") + attention,
                                                "layout.recompute=" + std::string(recompute_names[mode])}))
                        .stages.at(0);
                EXPECT_EQ(rank.activations_by_recompute[mode], rank.of(Category::Activations)) << preset;
                EXPECT_GE(rank.activations_by_recompute[0], rank.activations_by_recompute[1]) << preset;
                EXPECT_GE(rank.activations_by_recompute[1], rank.activations_by_recompute[2]) << preset;
                EXPECT_GE(rank.activations_by_recompute[0], rank.activations_by_recompute[3]) << preset;
            }
}

TEST(Estimate, RecomputedLayerCountsBeyondTheLogitsOnly) {
    const auto plan = gpu_plan("llama-7b", {"layout.pp=2", "layout.accumulation=4", "layout.recompute=full"});
    const auto stages = estimated(plan).stages;
    const Bytes input = 2 * 2048 * 4096, gradients = 2 * (2048 + 4096) * 11008 + 2 * input;
    const Bytes layer = estimated(gpu_plan("llama-7b")).stages.at(0).activations_per_layer;
    EXPECT_EQ(bytes_of_term(stages.at(0), "layer_backward"), layer - input + gradients);
    // On the last stage the logits (2048 x 32000 of 12 B), final norm and head input are freed before.
    EXPECT_EQ(bytes_of_term(stages.at(1), "layer_backward"), 0);
    const auto wide = estimated(gpu_plan("llama-7b", {"layout.recompute=full", "model.vocab_size=256"})).stages.at(0);
    const Bytes logits = bytes_of_term(wide, "logits_and_loss");
    EXPECT_EQ(bytes_of_term(wide, "layer_backward"), layer - input + gradients - logits - 2 * input - 4 * 2048);
}

TEST(Estimate, LogitsAreOnTheLastStageInFp32) {
    const auto stages = estimated(gpu_plan("llama-3-8b", {"layout.pp=2", "layout.accumulation=4"})).stages;
    EXPECT_EQ(stages.at(0).find("logits_and_loss"), nullptr);
    EXPECT_EQ(bytes_of_term(stages.at(1), "logits_and_loss"), 2048LL * 128256 * 12);
    const auto split = estimated(gpu_plan("llama-3-8b", {"layout.tp=8"})).stages;
    EXPECT_EQ(bytes_of_term(split.at(0), "logits_and_loss"), 2048LL * 128256 / 8 * 12);
    // GPipe's last stage keeps the log-softmax of each micro-batch.
    const auto gpipe =
        estimated(gpu_plan("llama-3-8b", {"layout.pp=2", "layout.accumulation=4", "layout.schedule=gpipe"}));
    EXPECT_EQ(bytes_of_term(gpipe.stages.at(1), "logits_and_loss"), 2048LL * 128256 * (12 + 3 * 4));
}

TEST(Estimate, FewTokensPeakAtTheGradientOfTheHead) {
    const auto rank = estimated(gpu_plan("llama-3-8b", {"data.sequence_length=128"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "logits_and_loss"), 2LL * (128 * 128256 + 128256LL * 4096 + 128 * 4096));
}

TEST(Estimate, CommunicationBuffersAreNamed) {
    // ZeRO-3: what a layer's backward gathers exceeds what the loss holds; ZeRO-1 reduces its gradients in place.
    const auto zero3 = estimated(gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=3"})).stages.at(0);
    EXPECT_GT(bytes_of_term(zero3, "zero_buffers"), 4 * 202'383'360LL);
    EXPECT_LT(bytes_of_term(zero3, "zero_buffers"), 4.6 * 202'383'360LL);
    const auto zero2 =
        estimated(gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=2", "training.bucket_mib=50"})).stages.at(0);
    EXPECT_LE(bytes_of_term(zero2, "zero_buffers"), 131'072'000LL * 2 + 50 * MiB);
    const auto zero1 = estimated(gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=1"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(zero1, "gradient_buckets"), 0);
    const auto plain = estimated(gpu_plan("gpt2", {"layout.dp=8"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(plain, "gradient_buckets"), 0);
    const auto mixed = estimated(gpu_plan("llama-7b", {"layout.tp=2", "layout.sequence_parallel=true", "layout.pp=2",
                                                       "layout.cp=2", "layout.accumulation=2"}))
                           .stages.at(0);
    EXPECT_EQ(bytes_of_term(mixed, "pipeline_buffers"), 2 * 2 * 1024 * 4096 / 2);
    // The ring of keys and values is gone by the peak, which an MLP or the loss is; gathered sequences are kept.
    EXPECT_EQ(mixed.find("context_parallel_buffers"), nullptr);
    EXPECT_EQ(mixed.find("sequence_parallel_buffer"), nullptr);
}

TEST(Estimate, UnevenRoutingIsCountedWhereRanksShareTheExperts) {
    const std::vector<std::string> ep{"layout.dp=8", "layout.ep=8"};
    const auto rank = estimated(gpu_plan("mixtral-8x7b", ep)).stages.at(0);
    // A quarter of 2 experts a token: tokens in, 4 inner tensors, outputs, and the routes' own bytes stay out of it.
    EXPECT_EQ(bytes_of_term(rank, "routing_imbalance"), 32 * (2 * 2 * 2048LL * (2 * 4096 + 4 * 14336)) / 4);
    auto alone = gpu_plan("mixtral-8x7b", {"layout.dp=8"});
    EXPECT_EQ(estimated(alone).stages.at(0).find("routing_imbalance"), nullptr);
}

TEST(Estimate, OverheadIsPerCommunicator) {
    const auto one = estimated(gpu_plan("gpt2")).stages.at(0);
    EXPECT_EQ(one.find("nccl"), nullptr);
    const auto rank = estimated(gpu_plan("llama-7b", {"layout.dp=2", "layout.tp=4"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(rank, "nccl"), (544 + 688) * MiB);
    EXPECT_GT(bytes_of_term(rank, "cuda_context"), 0);
    EXPECT_EQ(bytes_of_term(rank, "fragmentation"),
              ((rank.of(Category::Activations) + rank.of(Category::Buffers)) * 28 + 99) / 100);
}

TEST(Estimate, CpuRanksHaveNoCudaOverhead) {
    const auto plan = plan_preset("cpu-demo");
    ASSERT_TRUE(plan) << plan.error().message;
    const auto estimate = estimated(*plan);
    const auto& rank = estimate.stages.at(0);
    EXPECT_EQ(rank.label, "Every rank");
    EXPECT_EQ(rank.ranks, 2);
    EXPECT_EQ(rank.of(Category::Overhead), 0);
    EXPECT_THAT(rank.find("overhead")->formula, testing::HasSubstr("on the CPU"));
    EXPECT_GT(estimate.usable, 0);
    EXPECT_TRUE(estimate.fits());
}

TEST(Estimate, MoreShardingNeverTakesMore) {
    const auto total = [](const std::string& setting) {
        return estimated(gpu_plan("llama-2-70b", {"layout.dp=16", setting})).fullest().total();
    };
    Bytes before = total("layout.zero_stage=0");
    for (const auto* stage : {"1", "2", "3"}) {
        const auto now = total(std::string("layout.zero_stage=") + stage);
        EXPECT_LT(now, before) << "ZeRO-" << stage;
        before = now;
    }
    for (const auto* dimension : {"tp", "pp", "cp"}) {
        before = total(std::string("layout.") + dimension + "=1");
        for (const auto* degree : {"2", "4", "8"}) {
            const auto now = total(std::string("layout.") + dimension + "=" + degree);
            EXPECT_LT(now, before) << dimension << " " << degree;
            before = now;
        }
    }
    for (const auto* preset : {"gpt2", "llama-7b", "mixtral-8x7b"})
        for (int stage = 1; stage <= 3; ++stage) {
            const auto states_at = [&](int zero) {
                return states(estimated(gpu_plan(preset, {"layout.dp=4", "layout.zero_stage=" + std::to_string(zero)}))
                                  .stages.at(0));
            };
            EXPECT_LT(states_at(stage), states_at(stage - 1)) << preset << " ZeRO-" << stage;
        }
}

TEST(Estimate, SaysWhetherThePlanFits) {
    EXPECT_FALSE(estimated(gpu_plan("llama-7b")).fits());  // 16 B x 6.7e9 = 108 GB on 80 GB
    EXPECT_TRUE(estimated(gpu_plan("llama-7b", {"layout.dp=4", "layout.zero_stage=3"})).fits());
    const auto limited = estimated(gpu_plan("gpt2", {"cluster.usable_gib=1"}));
    EXPECT_EQ(limited.usable, 1 * GiB);
    EXPECT_FALSE(limited.fits());
}

TEST(Estimate, FullestIsTheStageWithMost) {
    const auto estimate = estimated(gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8"}));
    for (const auto& stage : estimate.stages) EXPECT_LE(stage.total(), estimate.fullest().total());
}

TEST(Estimate, ImpossiblePlansAreRefused) {
    auto plan = gpu_plan("llama-7b");
    plan.cluster.gpu = "A100-81GB of nobody";
    EXPECT_FALSE(estimate_memory(plan));
    plan = gpu_plan("llama-7b");
    plan.layout.tp = 5;
    const auto refused = estimate_memory(plan);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Error::Kind::BadInput);
}

// Near every limit of check_plan (1e15 parameters, 1e15 activation elements) sums stay exact and positive.
TEST(Estimate, LargestAllowedPlansDoNotOverflow) {
    const auto wide =
        gpu_plan("llama-7b", {"model.hidden_size=100000", "model.num_heads=1000", "model.num_kv_heads=1000",
                              "model.ffn_hidden_size=400000", "model.num_layers=6000", "model.vocab_size=1000000",
                              "numerics.dtype=fp32"});
    const auto estimate = estimated(wide);
    EXPECT_GT(estimate.parameters, 900'000'000'000'000);
    EXPECT_EQ(states(estimate.stages.at(0)), 16 * estimate.parameters);
    const auto long_sequence = gpu_plan("llama-7b", {"data.sequence_length=20000", "layout.micro_batch=1600",
                                                     "numerics.attention=eager", "numerics.dtype=fp32"});
    const auto rank = estimated(long_sequence).stages.at(0);
    double sum = 0;
    for (const auto& term : rank.terms) sum += static_cast<double>(term.bytes);
    EXPECT_GT(sum, 2e15);
    EXPECT_NEAR(static_cast<double>(rank.total()) / sum, 1, 1e-12);
    const auto deep = gpu_plan("gpt2-tiny", {"model.num_layers=5000", "layout.pp=5000"});
    EXPECT_FALSE(estimate_memory(deep));  // one clear sentence, not minutes of work
}

}  // namespace
}  // namespace plimsoll
