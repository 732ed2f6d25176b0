// SPDX-License-Identifier: Apache-2.0
// Memory savers, optimizers, dropout and restarts: the same training under every layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/conformance/layout_run.h"

namespace plimsoll::engine {
namespace {

LayoutRun run(const std::string& preset, const std::string& layout, int steps = 5) {
    return run_preset(preset, layout, steps);
}

void expect_same_bits(const LayoutRun& a, const LayoutRun& b, const std::string& what) {
    EXPECT_EQ(a.losses, b.losses) << what;
    EXPECT_EQ(a.grad_norms, b.grad_norms) << what;
    EXPECT_EQ(largest_difference(a.weights, b.weights), 0) << what;
}

const std::vector<const char*> some_layouts{"dp=1", "dp=2 zero=3", "tp=2 sp pp=2", "pp=2 schedule=zb-v", "cp=2"};

TEST(Recomputation, ChangesNoBit) {
    for (const char* preset : {"gpt2", "llama-2-70b"}) {
        for (const std::string layout : some_layouts) {
            const LayoutRun none = run(preset, layout);
            for (const char* how :
                 {"recompute=full", "recompute=full recompute_every=2", "recompute=selective", "recompute=mlp",
                  "numerics.attention=flash recompute=mlp", "numerics.attention=flash recompute=full"}) {
                const std::string all = fmt::format("{} {}", layout, how);
                expect_same_bits(run(preset, all), none, all);
            }
        }
        expect_same_bits(run(preset, "pp=2 recompute=full recompute_stages=1"), run(preset, "pp=2"), "one stage");
    }
}

TEST(Recomputation, ChangesNoBitWithRoutedExperts) {
    for (const char* layout : {"dp=1", "dp=2 ep=2", "tp=2 sp"}) {
        const LayoutRun none = run("mixtral-8x7b", layout);
        for (const char* how : {"full", "mlp"}) {
            expect_same_bits(run("mixtral-8x7b", fmt::format("{} recompute={}", layout, how)), none, layout);
        }
    }
}

TEST(Dropout, DropsTheSameNumbersUnderEveryLayout) {
    for (const char* preset : {"gpt2", "llama-2-70b"}) {
        const LayoutRun one = run(preset, "model.dropout=0.2");
        EXPECT_GT(std::abs(one.losses[1] - run(preset, "dp=1").losses[1]), 1e-4) << "dropout drops something";
        for (const char* layout : {"micro_batch=1", "dp=2", "dp=4 zero=2", "tp=2", "tp=2 sp", "tp=4 sp", "pp=2",
                                   "tp=2 sp pp=2 schedule=zb-v", "cp=2", "tp=2 sp cp=2", "cp=4", "dp=2 cp=2 zero=3",
                                   "cp=2 recompute=full", "cp=2 recompute=mlp"}) {
            const std::string all = fmt::format("{} model.dropout=0.2", layout);
            expect_same_training(run(preset, all), one, all);
        }
        for (const char* how : {"recompute=full", "recompute=selective", "recompute=mlp", "tp=2 sp recompute=full",
                                "tp=2 sp recompute=mlp"}) {
            const std::string all = fmt::format("{} model.dropout=0.2", how);
            expect_same_training(run(preset, all), one, all);
        }
        expect_same_bits(run(preset, "model.dropout=0.2 recompute=full"), one, "replayed");
    }
}

TEST(Optimizers, AreShardedWithoutAChange) {
    for (const char* kind : {"lamb", "sgd", "adafactor", "adamw-8bit", "lamb optimizer.always_adapt=true"}) {
        for (const char* preset : {"gpt2", "llama-2-70b"}) {
            const std::string optimizer = fmt::format("optimizer.kind={}", kind);
            const LayoutRun one = run(preset, optimizer);
            const auto start = run(preset, "dp=1", 0).weights;
            EXPECT_GT(largest_difference(one.weights, start), 1e-5) << kind << " learns";
            for (const char* layout : {"dp=2 zero=1", "dp=4 zero=3", "tp=2", "tp=4 sp", "dp=2 tp=2 pp=2 zero=1"}) {
                const std::string all = fmt::format("{} {}", layout, optimizer);
                const LayoutRun sharded = run(preset, all);
                expect_same_training(sharded, one, all);
                EXPECT_LT(largest_difference(sharded.optimizer, one.optimizer), 1e-4) << all;
            }
        }
    }
}

TEST(Optimizers, OfExpertsAreShardedToo) {
    for (const char* kind : {"lamb", "adafactor"}) {
        const std::string optimizer = fmt::format("optimizer.kind={}", kind);
        const LayoutRun one = run("mixtral-8x7b", optimizer);
        for (const char* layout : {"dp=4 ep=2 zero=1", "dp=2 ep=2 tp=2 zero=3"}) {
            const std::string all = fmt::format("{} {}", layout, optimizer);
            expect_same_training(run("mixtral-8x7b", all), one, all);
        }
    }
}

TEST(RoutedExperts, DropTheSameTokensAndReportTheSameLossesInEveryLayout) {
    // An expert is full long before the end of a sequence, which context-parallel ranks share.
    const std::string routing = "model.capacity_factor=0.75 model.router_aux_loss=0.05 model.router_z_loss=0.01";
    const LayoutRun one = run("mixtral-8x7b", routing);
    const LayoutRun unlimited = run("mixtral-8x7b", "model.router_aux_loss=0.05 model.router_z_loss=0.01");
    EXPECT_GT(std::abs(one.losses[0] - unlimited.losses[0]), 1e-4);
    EXPECT_GT(one.router_losses[0], 0.05);
    for (const char* layout : {"cp=2", "cp=4", "tp=2", "tp=2 sp", "dp=2 ep=2", "pp=2", "dp=2 cp=2 ep=2", "tp=2 sp cp=2",
                               "cp=2 recompute=full"}) {
        const std::string all = fmt::format("{} {}", layout, routing);
        expect_same_training(run("mixtral-8x7b", all), one, all);
    }
}

TEST(GradientNorm, DoesNotDependOnTheSizeOfBuckets) {
    // Shards of small buckets cut parameters at other places than shards of one large bucket.
    const std::string wide = "model.hidden_size=160 model.ffn_hidden_size=400";
    for (const char* layout : {"dp=2 zero=1", "dp=4 zero=2"}) {
        const LayoutRun large = run("llama-7b", fmt::format("{} {} training.bucket_mib=25", layout, wide), 3);
        EXPECT_GT(large.grad_norms[0], 1) << "the norm is clipped";
        for (const char* mib : {"1", "2"}) {
            const std::string all = fmt::format("{} {} training.bucket_mib={}", layout, wide, mib);
            expect_same_bits(run("llama-7b", all, 3), large, all);
        }
    }
}

TEST(OffloadedOptimizer, TrainsToTheBitAsInMemory) {
    const std::string folder = std::filesystem::temp_directory_path();
    for (const char* layout : {"dp=2 zero=1", "dp=2 zero=2 numerics.dtype=bf16", "dp=2 zero=3", "dp=2 tp=2 zero=1"}) {
        const LayoutRun in_memory = run("llama-7b", layout);
        const LayoutRun on_drive =
            run("llama-7b", fmt::format("{} offload_optimizer=nvme nvme_path={}", layout, folder));
        expect_same_bits(on_drive, in_memory, layout);
        EXPECT_EQ(largest_difference(on_drive.optimizer, in_memory.optimizer), 0) << layout;
    }
}

TEST(OffloadedParameters, TrainToTheBitAsInMemory) {
    const std::string folder = std::filesystem::temp_directory_path();
    for (const auto& [preset, layout] :
         {std::pair{"llama-7b", "dp=2 zero=3"}, std::pair{"llama-7b", "dp=2 zero=3 numerics.dtype=bf16"},
          std::pair{"gpt2", "dp=4 zero=3 recompute=full"}, std::pair{"gpt2", "dp=2 tp=2 sp zero=3 recompute=mlp"},
          std::pair{"mixtral-8x7b", "dp=4 ep=2 zero=3"}, std::pair{"llama-7b", "dp=2 zero=3 offload_optimizer=nvme"},
          std::pair{"llama-7b", "dp=2 zero=3 optimizer.kind=lamb"},
          std::pair{"llama-7b", "dp=2 zero=3 numerics.dtype=bf16 optimizer.kind=adafactor"}}) {
        const std::string in_memory = fmt::format("{} nvme_path={}", layout, folder);
        const LayoutRun here = run(preset, in_memory);
        const LayoutRun on_drive = run(preset, in_memory + " offload_parameters=nvme");
        expect_same_bits(on_drive, here, layout);
        EXPECT_EQ(largest_difference(on_drive.optimizer, here.optimizer), 0) << layout;
        EXPECT_EQ(on_drive.validation_loss, here.validation_loss) << layout;
    }
    const LayoutRun nowhere =
        run_layout(conformance_plan("llama-7b", "dp=2 zero=3 offload_parameters=nvme nvme_path=/nowhere/at/all"), 1);
    EXPECT_THAT(nowhere.failure, ::testing::HasSubstr("/nowhere/at/all"));
}

TEST(Pipelines, ReduceAChunkWhileOthersGoOn) {
    for (const char* schedule : {"interleaved-1f1b", "zb-v"}) {
        for (const char* zero : {"", " zero=1"}) {
            const LayoutRun one = run("llama-7b", "dp=1");
            const LayoutRun spread = run("llama-7b", fmt::format("dp=2 pp=2 schedule={}{}", schedule, zero));
            EXPECT_GT(spread.overlapped_buckets, 0U) << schedule << zero;
            expect_same_training(spread, one, schedule);
        }
    }
}

TEST(Batches, HowTheyAreCutChangesNeitherLossNorNorm) {
    const LayoutRun whole = run("gpt2", "micro_batch=8");
    for (const char* cut : {"micro_batch=1", "micro_batch=4", "dp=2 micro_batch=1", "dp=2 micro_batch=4 zero=2",
                            "pp=2 micro_batch=1", "dp=4 training.all_reduce_group=2"}) {
        const LayoutRun other = run("gpt2", cut);
        for (std::size_t i = 0; i < whole.losses.size(); ++i) {
            EXPECT_NEAR(other.losses[i], whole.losses[i], 1e-6 * whole.losses[i] * (1 + 10 * static_cast<double>(i)));
        }
        EXPECT_NEAR(other.grad_norms[0] / whole.grad_norms[0], 1, 1e-6) << cut;
    }
}

TEST(LossChunks, ChangeNothingButMemory) {
    for (const char* preset : {"gpt2", "llama-2-70b"}) {
        const LayoutRun one = run(preset, "dp=1");
        for (const char* layout : {"loss_chunks=3", "tp=2 loss_chunks=3", "tp=2 sp loss_chunks=2", "pp=2 loss_chunks=4",
                                   "dp=2 zero=3 loss_chunks=3", "pp=2 schedule=zb-h1 loss_chunks=2",
                                   "loss_chunks=3 recompute=full", "cp=2 loss_chunks=2"}) {
            expect_same_training(run(preset, layout), one, layout);
        }
    }
}

TEST(ReduceDtype, GradientsMayTravelInHalfPrecision) {
    const LayoutRun exact = run("gpt2", "dp=2");
    for (const char* dtype : {"bf16", "fp16"}) {
        for (const char* layout : {"dp=2", "dp=2 zero=2"}) {
            const LayoutRun half = run("gpt2", fmt::format("{} numerics.reduce_dtype={}", layout, dtype));
            const double difference = largest_relative_difference(half.gradients, exact.gradients);
            EXPECT_GT(difference, 1e-5) << dtype << " was used";
            EXPECT_LT(difference, 2e-2) << dtype;
        }
    }
}

TEST(HalfPrecision, TrainsUnderEveryLayout) {
    for (const char* dtype : {"bf16", "fp16"}) {
        const std::string numerics = fmt::format("numerics.dtype={}", dtype);
        const LayoutRun one = run("llama-2-70b", numerics, 10);
        for (const char* layout :
             {"dp=2 zero=3", "tp=2 sp", "pp=2 schedule=zb-h1", "cp=2", "dp=2 numerics.fp32_gradients=true",
              "pp=2 schedule=zb-v numerics.fp32_gradients=true"}) {
            const LayoutRun other = run("llama-2-70b", fmt::format("{} {}", layout, numerics), 10);
            EXPECT_NEAR(other.losses.front(), one.losses.front(), 0.02) << layout;
            EXPECT_NEAR(other.losses.back(), one.losses.back(), 0.05) << layout;
        }
    }
}

const std::vector<std::string> precision_recipes{
    "numerics.weights=autocast",
    "numerics.dtype=fp16 numerics.weights=autocast",
    "optimizer.state_dtype=bf16",
    "numerics.weights=pure",
    "numerics.weights=pure numerics.rounding=stochastic optimizer.state_dtype=bf16",
    "numerics.weights=pure numerics.rounding=kahan optimizer.state_dtype=bf16",
    "numerics.weights=pure numerics.rounding=stochastic optimizer.kind=adamw-8bit",
    "numerics.weights=pure numerics.rounding=kahan optimizer.kind=sgd optimizer.state_dtype=bf16"};

TEST(PrecisionRecipes, ChangeNoBitFromOneZeroStageToAnother) {
    for (const char* preset : {"gpt2", "llama-2-70b"}) {
        for (const std::string& recipe : precision_recipes) {
            // One micro-batch: with more, ZeRO-2 sums gradients over ranks first, and bf16 rounds in another order. No
            // clipping: ZeRO-3 sums the norm's squares in another order.
            const std::string both = "dp=2 micro_batch=4 optimizer.clip=0 numerics.dtype=bf16 " + recipe;
            const LayoutRun plain = run(preset, both);
            EXPECT_GT(largest_difference(plain.weights, run(preset, both, 0).weights), 1e-4) << both << " learns";
            for (const char* stage : {"1", "2", "3"}) {
                const std::string all = fmt::format("{} zero={}", both, stage);
                const LayoutRun sharded = run(preset, all);
                EXPECT_EQ(sharded.losses, plain.losses) << all;
                EXPECT_EQ(largest_difference(sharded.weights, plain.weights), 0) << all;
                EXPECT_EQ(largest_difference(sharded.optimizer, plain.optimizer), 0) << all;
            }
        }
    }
}

TEST(PrecisionRecipes, TrainUnderEveryLayout) {
    for (const std::string& recipe : precision_recipes) {
        const std::string numerics = "numerics.dtype=bf16 " + recipe;
        const LayoutRun one = run("llama-2-70b", numerics, 10);
        for (const char* layout : {"dp=4 zero=3", "tp=2 sp", "pp=2 schedule=zb-h1", "cp=2", "recompute=full",
                                   "dp=2 tp=2 pp=2 zero=1", "loss_chunks=3"}) {
            const LayoutRun other = run("llama-2-70b", fmt::format("{} {}", layout, numerics), 10);
            EXPECT_NEAR(other.losses.front(), one.losses.front(), 0.02) << layout << " " << recipe;
            EXPECT_NEAR(other.losses.back(), one.losses.back(), 0.05) << layout << " " << recipe;
        }
    }
    for (const char* layout : {"dp=2 ep=2", "dp=2 ep=2 zero=3", "tp=2"}) {
        const std::string all = fmt::format("{} numerics.dtype=bf16 numerics.weights=autocast", layout);
        const LayoutRun one = run("mixtral-8x7b", "numerics.dtype=bf16 numerics.weights=autocast");
        EXPECT_NEAR(run("mixtral-8x7b", all).losses.back(), one.losses.back(), 0.05) << layout;
    }
}

TEST(PrecisionRecipes, AutocastComputesWhatMastersDo) {
    // The weights that autocast casts are those that masters are cast to, and gradients are summed in fp32 in both.
    const LayoutRun casts = run("llama-2-70b", "dp=2 numerics.dtype=bf16 numerics.weights=autocast", 10);
    const LayoutRun masters = run("llama-2-70b", "dp=2 numerics.dtype=bf16 numerics.fp32_gradients=true", 10);
    EXPECT_EQ(casts.losses.front(), masters.losses.front());
    for (std::size_t i = 0; i < casts.losses.size(); ++i) {
        EXPECT_NEAR(casts.losses[i], masters.losses[i], 0.01) << i;
    }
    EXPECT_EQ(casts.weights.begin()->second.scalar_type(), torch::kFloat);
    EXPECT_EQ(masters.weights.begin()->second.scalar_type(), torch::kBFloat16);
}

TEST(PrecisionRecipes, KahanSumsMoveAsManyWeightsAsMastersDo) {
    const std::string pure = "numerics.dtype=bf16 numerics.weights=pure optimizer.lr=1e-5 lr.warmup_steps=0 ";
    const LayoutRun start = run("llama-2-70b", pure, 0);
    const auto moved = [&](const std::string& settings) {
        const LayoutRun after = run("llama-2-70b", pure + settings, 10);
        double numbers = 0, changed = 0;
        for (const auto& [name, tensor] : after.weights) {
            numbers += static_cast<double>(tensor.numel());
            changed += (tensor != start.weights.at(name)).sum().item<double>();
        }
        return changed / numbers;
    };
    // Deviation 0.02 and updates of 1e-5: 85 % of the weights, those above 2^-8, take up none of them.
    const double masters = moved("numerics.weights=masters"), nearest = moved("numerics.rounding=nearest");
    EXPECT_LT(nearest, masters / 2);
    EXPECT_NEAR(moved("numerics.rounding=kahan"), masters, 0.1 * masters);
    EXPECT_GT(moved("numerics.rounding=stochastic"), masters);  // an update moves some of them by a whole digit
    const LayoutRun one = run("llama-2-70b", pure + "numerics.rounding=stochastic"),
                    same = run("llama-2-70b", pure + "numerics.rounding=stochastic");
    expect_same_bits(same, one, "the same seed");
}

TEST(CompressedActivations, StillConverge) {
    const LayoutRun exact = run("llama-2-70b", "dp=1", 20);
    for (const char* layout : {"compress_activations=true", "tp=2 sp compress_activations=true",
                               "dp=2 zero=3 compress_activations=true", "compress_activations=true recompute=full"}) {
        const LayoutRun packed = run("llama-2-70b", layout, 20);
        EXPECT_LT(largest_relative_difference(packed.gradients, exact.gradients), 0.2) << layout;
        EXPECT_NEAR(packed.losses.back(), exact.losses.back(), 0.03) << layout;
    }
}

TEST(Restarts, AnyLayoutTakesOverWhatAnyOtherTrained) {
    for (const char* preset : {"gpt2", "llama-2-70b", "mixtral-8x7b"}) {
        const LayoutRun trained = run(preset, "tp=2 sp pp=2", 3);
        const NamedTensors start(trained.weights.begin(), trained.weights.end());
        std::vector<const char*> layouts{
            "dp=1", "dp=4 zero=3", "tp=4", "pp=4 schedule=zb-h1", "pp=2 schedule=zb-v", "dp=2 tp=2 pp=2 zero=1",
            "cp=2"};
        if (std::string(preset) == "mixtral-8x7b") layouts.push_back("dp=4 ep=4");
        for (const char* layout : layouts) {
            const LayoutRun taken = run_layout(conformance_plan(preset, layout), 0, &start);
            EXPECT_TRUE(taken.failure.empty()) << taken.failure;
            EXPECT_EQ(largest_difference(taken.weights, trained.weights), 0) << preset << " " << layout;
        }
    }
}

TEST(Failures, ARankWithAnotherPlanStopsAllWithItsNumber) {
    const Plan plan = conformance_plan("gpt2", "dp=4");
    const std::string failure = run_with_odd_rank(plan, 2, [](Plan& odd) { odd.model.ffn_hidden_size += 16; });
    for (int rank = 0; rank < 4; ++rank) {
        EXPECT_THAT(failure, ::testing::HasSubstr(fmt::format("rank {}: rank 2 has another plan than rank 0", rank)));
    }
}

TEST(Failures, AReportSaysWhoWaitsForWhom) {
    Plan plan = conformance_plan("gpt2", "dp=2 pp=2");
    // Rank 3 does nothing for longer than the time-out.
    const std::string failure = run_with_silent_rank(plan, 3, 3);
    EXPECT_THAT(failure, ::testing::HasSubstr("rank 3 waits for nothing"));
    EXPECT_THAT(failure, ::testing::HasSubstr("waits in the"));
}

}  // namespace
}  // namespace plimsoll::engine
