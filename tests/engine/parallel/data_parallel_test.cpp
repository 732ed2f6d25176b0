// SPDX-License-Identifier: Apache-2.0
// Gradient buckets over a real Gloo group: two ranks in two threads of this program, a store in another process.
#include "core/engine/parallel/data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <future>
#include <thread>

#include "core/engine/parallel/gradient_norms.h"
#include "tests/support/run_harness.h"

namespace plimsoll::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Runs `body` on every rank of a real group; errors of ranks are test failures.
void on_ranks(int world_size, const std::function<void(Collectives&)>& body, bool meet_at_end = true) {
    const plimsoll::testing::Store store;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
        threads.emplace_back([&, rank] {
            RankInfo info;
            info.secret = "of this test";
            info.rank = info.local_rank = rank;
            info.world_size = world_size;
            info.master_port = store.port();
            auto group = make_collectives(info, 20);
            ASSERT_TRUE(group) << group.error().message;
            body(**group);
            if (meet_at_end) {
                EXPECT_TRUE((*group)->barrier());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void expect_ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }

TEST(Collectives, SumBroadcastAndMeet) {
    on_ranks(3, [](Collectives& group) {
        for (const auto dtype : {torch::kFloat32, torch::kFloat64, torch::kBFloat16, torch::kHalf, torch::kInt64}) {
            torch::Tensor mine = torch::full({5}, group.rank() + 1, dtype);
            expect_ok(group.all_reduce_sum(mine)->wait());
            EXPECT_TRUE(mine.eq(6).all().item<bool>()) << dtype;
        }
        torch::Tensor text = torch::full({2}, group.rank() == 1 ? 7 : 0, torch::kInt64);
        expect_ok(group.broadcast(text, 1));
        EXPECT_TRUE(text.eq(7).all().item<bool>());
        expect_ok(group.barrier(5));
    });
}

TEST(Collectives, OneRankNeedsNoStore) {
    const auto group = make_collectives({}, 1);
    ASSERT_TRUE(group);
    torch::Tensor mine = torch::full({3}, 2.0F);
    expect_ok((*group)->all_reduce_sum(mine)->wait());
    EXPECT_TRUE(mine.eq(2).all().item<bool>());
    expect_ok((*group)->barrier());
}

TEST(Collectives, ASilentRankIsATimeOutNotAHang) {
    std::promise<void> given_up;
    const auto silence = given_up.get_future().share();
    const auto body = [&](Collectives& group) {
        if (group.rank() == 1) return silence.wait();
        const auto waited = group.broadcast(torch::zeros({1}), 1, 0.3);
        given_up.set_value();
        ASSERT_FALSE(waited);
        EXPECT_THAT(waited.error().message, HasSubstr("did not answer within 300 ms during the broadcast"));
        EXPECT_EQ(waited.error().kind, Error::Kind::Failed);
    };
    on_ranks(2, body, /*meet_at_end=*/false);
}

/// Two linear layers, a tied third, and one that is never used.
struct SmallModel : torch::nn::Module {
    torch::Tensor a, b, unused;
    explicit SmallModel(std::uint64_t seed) {
        // Ranks are threads here: the process's own generator would be shared.
        auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
        a = register_parameter("a", torch::randn({6, 6}, generator));
        b = register_parameter("b", torch::randn({6, 6}, generator));
        unused = register_parameter("unused", torch::randn({3}, generator));
    }
    torch::Tensor loss(const torch::Tensor& input) const {
        return torch::tanh(torch::tanh(input.matmul(a)).matmul(b)).matmul(a).square().mean();
    }
    std::vector<std::pair<std::string, torch::Tensor>> parameters_of_model() const {
        return {{"a", a}, {"b", b}, {"unused", unused}};
    }
};

torch::Tensor inputs(int rank, int micro_batch = 0) {
    return torch::arange(4 * 6, torch::kFloat32).view({4, 6}) * 0.05F + 0.3F * static_cast<float>(rank) -
           0.2F * static_cast<float>(micro_batch);
}

std::vector<torch::Tensor> gradients_of_one_process(const std::vector<torch::Tensor>& batches) {
    SmallModel model(1);
    for (const torch::Tensor& batch : batches) (model.loss(batch) / static_cast<double>(batches.size())).backward();
    return {model.a.grad(), model.b.grad()};
}

class Buckets : public ::testing::TestWithParam<Bytes> {};

TEST_P(Buckets, HoldTheMeanOverRanksWhateverTheirSize) {
    const auto expected = gradients_of_one_process({inputs(0), inputs(1)});
    on_ranks(2, [&](Collectives& group) {
        SmallModel model(1);
        DataParallel parallel(model.parameters_of_model(), group, GetParam());
        for (int step = 0; step < 3; ++step) {  // the first one counts gradients, the others overlap
            parallel.zero_gradients();
            parallel.prepare_backward(true);
            model.loss(inputs(group.rank())).backward();
            expect_ok(parallel.finish());
            EXPECT_TRUE(torch::allclose(model.a.grad(), expected[0], 1e-5, 1e-7)) << step;
            EXPECT_TRUE(torch::allclose(model.b.grad(), expected[1], 1e-5, 1e-7)) << step;
            EXPECT_TRUE(model.unused.grad().eq(0).all().item<bool>());
        }
    });
}

TEST_P(Buckets, AddMicroBatchesAndReduceOnce) {
    const auto expected = gradients_of_one_process({inputs(0, 0), inputs(0, 1), inputs(1, 0), inputs(1, 1)});
    on_ranks(2, [&](Collectives& group) {
        SmallModel model(1);
        DataParallel parallel(model.parameters_of_model(), group, GetParam());
        for (int step = 0; step < 2; ++step) {
            parallel.zero_gradients();
            for (int k = 0; k < 2; ++k) {
                parallel.prepare_backward(k == 1);
                (model.loss(inputs(group.rank(), k)) / 2).backward();
            }
            expect_ok(parallel.finish());
            EXPECT_TRUE(torch::allclose(model.a.grad(), expected[0], 1e-5, 1e-7));
            EXPECT_TRUE(torch::allclose(model.b.grad(), expected[1], 1e-5, 1e-7));
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Buckets, ::testing::Values(Bytes{1}, Bytes{200}, Bytes{1} << 30));

TEST(DataParallelRanks, StartFromTheWeightsOfRank0) {
    on_ranks(2, [](Collectives& group) {
        SmallModel model(static_cast<std::uint64_t>(10 + group.rank())), first(10);
        DataParallel parallel(model.parameters_of_model(), group, 200);
        expect_ok(parallel.broadcast_parameters());
        EXPECT_TRUE(torch::equal(model.a, first.a));
        EXPECT_TRUE(torch::equal(model.unused, first.unused));
        EXPECT_TRUE(model.a.grad().eq(0).all().item<bool>());
    });
}

TEST(DataParallelRanks, AnOverflowOnOneRankIsSeenByAll) {
    on_ranks(2, [](Collectives& group) {
        torch::Tensor weight = torch::ones({4}, torch::kHalf).requires_grad_();
        DataParallel parallel({{"weight", weight}}, group, 1024);
        parallel.prepare_backward(true);
        const torch::Tensor factor = torch::full({4}, group.rank() == 1 ? 60000.0 : 1.0, torch::kHalf);
        (weight * factor * factor).sum().backward();
        expect_ok(parallel.finish());
        EXPECT_FALSE(std::isfinite(squared_norms({weight.grad()}).front()));
    });
}

TEST(DataParallelRanks, Fp32GradientsKeepWhatHalfPrecisionLoses) {
    // 1 + 2^-9 is not a bf16 number: added in bf16, the second gradient would vanish.
    on_ranks(2, [](Collectives& group) {
        torch::Tensor weight = torch::ones({4}, torch::kBFloat16).requires_grad_();
        DataParallel parallel({{"weight", weight}}, group, 1024, /*fp32_gradients=*/true);
        for (int step = 0; step < 2; ++step) {
            parallel.zero_gradients();
            for (int k = 0; k < 2; ++k) {
                parallel.prepare_backward(k == 1);
                (weight * (k == 0 ? 1.0 : 1.0 / 512)).sum().backward();
            }
            expect_ok(parallel.finish());
            ASSERT_EQ(weight.grad().scalar_type(), torch::kFloat32);
            EXPECT_TRUE(weight.grad().eq(1 + 1.0 / 512).all().item<bool>());
        }
    });
}

/// A group of one rank that keeps the order in which its collectives were asked for.
class Listener final : public Collectives {
public:
    std::vector<std::string> heard;
    int rank() const override { return 0; }
    int world_size() const override { return 1; }
    std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) override {
        heard.push_back(fmt::format("all-reduce of {}", tensor.numel()));
        return std::make_shared<Done>();
    }
    std::shared_ptr<Work> all_reduce_max(torch::Tensor) override { return std::make_shared<Done>(); }
    std::shared_ptr<Work> all_gather(torch::Tensor, torch::Tensor) override { return std::make_shared<Done>(); }
    std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor, torch::Tensor) override { return std::make_shared<Done>(); }
    std::shared_ptr<Work> all_to_all(torch::Tensor, torch::Tensor, std::vector<std::int64_t>,
                                     std::vector<std::int64_t>) override {
        return std::make_shared<Done>();
    }
    std::shared_ptr<Work> send(torch::Tensor, int, int) override { return std::make_shared<Done>(); }
    std::shared_ptr<Work> receive(torch::Tensor, int, int) override { return std::make_shared<Done>(); }
    Result<void> broadcast(torch::Tensor, int, Seconds) override { return {}; }
    Result<void> barrier(Seconds) override { return {}; }
    Result<std::unique_ptr<Collectives>> subgroup(const std::string&, const std::vector<int>&) override {
        return single_rank();
    }

private:
    class Done final : public Work {
        Result<void> wait() override { return {}; }
    };
};

std::vector<std::pair<std::string, torch::Tensor>> three_layers() {
    std::vector<std::pair<std::string, torch::Tensor>> layers;
    for (const std::int64_t width : {16, 32, 64}) {
        layers.emplace_back(fmt::format("layer {}", width), torch::ones({width}).requires_grad_());
    }
    return layers;
}

TEST(Overlap, ABucketTravelsWhileBackwardStillRuns) {
    // DeepSpeed 7804: overlap was on, yet everything ran one after the other.
    Listener group;
    const auto layers = three_layers();
    DataParallel parallel(layers, group, 1);
    EXPECT_EQ(parallel.bucket_count(), 3U);
    const auto step = [&] {
        group.heard.clear();
        parallel.zero_gradients();
        parallel.prepare_backward(true);
        torch::Tensor x = torch::ones({1});
        for (const auto& [name, weight] : layers) {
            x = (x * weight).mean().view({1});
            x.register_hook(
                [&group, layer = name](const torch::Tensor&) { group.heard.push_back("backward of " + layer); });
        }
        x.sum().backward();
        group.heard.emplace_back("backward ended");
        EXPECT_TRUE(parallel.finish());
    };
    step();
    EXPECT_EQ(parallel.overlapped_buckets(), 0U) << "the first step counts";
    step();
    EXPECT_THAT(group.heard,
                ElementsAre("backward of layer 64", "all-reduce of 64", "backward of layer 32", "all-reduce of 32",
                            "backward of layer 16", "all-reduce of 16", "backward ended"));
    EXPECT_EQ(parallel.overlapped_buckets(), 3U);
}

TEST(Overlap, TheOrderIsTheSameEvenWhereGradientsComeInAnother) {
    Listener group;
    const auto layers = three_layers();
    DataParallel parallel(layers, group, 1);
    for (int step = 0; step < 2; ++step) {
        group.heard.clear();
        parallel.prepare_backward(true);
        torch::Tensor x = torch::ones({1});
        for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) x = (x * layer->second).mean().view({1});
        x.sum().backward();
        EXPECT_TRUE(parallel.finish());
        EXPECT_THAT(group.heard, ElementsAre("all-reduce of 64", "all-reduce of 32", "all-reduce of 16"));
    }
}

TEST(Overlap, AMicroBatchThatIsNotTheLastSendsNothing) {
    Listener group;
    const auto layers = three_layers();
    DataParallel parallel(layers, group, 1);
    parallel.prepare_backward(false);
    layers[0].second.sum().backward();
    EXPECT_TRUE(group.heard.empty());
}

TEST(Overlap, AWeightUsedInTwoBackwardsWaitsForBoth) {
    // What reentrant recomputation does: each segment has a backward of its own.
    Listener group;
    torch::Tensor weight = torch::ones({16}).requires_grad_();
    DataParallel parallel({{"weight", weight}}, group, 1);
    for (int step = 0; step < 2; ++step) {
        group.heard.clear();
        parallel.zero_gradients();
        parallel.prepare_backward(true);
        weight.sum().backward();
        EXPECT_TRUE(group.heard.empty());
        (2 * weight).sum().backward();
        EXPECT_EQ(group.heard.size(), step == 0 ? 0U : 1U);
        EXPECT_TRUE(parallel.finish());
        EXPECT_TRUE(weight.grad().eq(3).all().item<bool>());
    }
}

TEST(Overlap, AGradientThatComesTooLateIsAnErrorNotAWrongSum) {
    // Megatron 656: a tied head drifted apart because its bucket left before the second gradient came.
    Listener group;
    torch::Tensor weight = torch::ones({16}).requires_grad_();
    DataParallel parallel({{"head.weight", weight}}, group, 1);
    for (int step = 0; step < 2; ++step) {
        parallel.prepare_backward(true);
        weight.sum().backward();
        if (step == 1) weight.sum().backward();
        const auto finished = parallel.finish();
        ASSERT_EQ(finished.has_value(), step == 0);
        if (step == 1) {
            EXPECT_THAT(finished.error().message,
                        HasSubstr("the gradient of head.weight came after its bucket was sent"));
        }
    }
}

TEST(Overlap, FrozenAndUnusedWeightsHoldNobodyUp) {
    // ms-swift 5714: with frozen inputs a bucket was never issued.
    Listener group;
    auto layers = three_layers();
    layers[1].second.set_requires_grad(false);
    DataParallel parallel(layers, group, 1);
    EXPECT_EQ(parallel.bucket_count(), 2U);
    for (int step = 0; step < 2; ++step) {
        group.heard.clear();
        parallel.prepare_backward(true);
        layers[0].second.sum().backward();
        EXPECT_TRUE(parallel.finish());
        EXPECT_THAT(group.heard, ElementsAre("all-reduce of 64", "all-reduce of 16"));
        EXPECT_FALSE(layers[1].second.grad().defined());
    }
}

TEST(Overlap, AChunksBucketsTravelWhenItIsDoneButForTiedOnes) {
    Listener group;
    std::vector<ParallelParameter> parameters;
    for (const auto& [name, tensor] : three_layers()) parameters.push_back({name, tensor});
    parameters[1].chunk = parameters[2].chunk = 1;
    parameters[2].alone = true;
    DataParallel parallel(parameters, group, {});
    for (int step = 0; step < 2; ++step) {
        group.heard.clear();
        parallel.prepare_backward(false);
        parallel.reduce_chunk(1);
        EXPECT_THAT(group.heard, ElementsAre("all-reduce of 32"));
        parallel.prepare_backward(true);
        EXPECT_EQ(parallel.overlapped_buckets(), 1U);
        EXPECT_TRUE(parallel.finish());
        EXPECT_THAT(group.heard, ElementsAre("all-reduce of 32", "all-reduce of 64", "all-reduce of 16"));
    }
}

TEST(Overlap, AfterItsEndWeightsAreOrdinaryAgain) {
    Listener group;
    const auto layers = three_layers();
    { DataParallel parallel(layers, group, 1); }
    layers[0].second.sum().backward();
    EXPECT_TRUE(layers[0].second.grad().eq(1).all().item<bool>());
    EXPECT_TRUE(group.heard.empty());
}

TEST(GradientNorms, AreTakenInFp32) {
    const auto squares = squared_norms({torch::tensor({3.0F, 4.0F}), torch::full({3}, 8, torch::kBFloat16)});
    ASSERT_EQ(squares.size(), 2U);
    EXPECT_DOUBLE_EQ(squares[0], 25);
    EXPECT_NEAR(squares[1], 3 * 64, 1e-4);
}

TEST(GradientNorms, ANormThatFp16CannotHoldIsStillFinite) {
    const torch::Tensor gradient = torch::full({10000}, 60000, torch::kHalf);
    const double half_of_60000 = gradient[0].to(torch::kFloat64).item<double>();
    EXPECT_NEAR(std::sqrt(squared_norms({gradient}).front()), 100 * half_of_60000, 100);
}

TEST(GradientNorms, ClippingFollowsTorch) {
    EXPECT_DOUBLE_EQ(clip_factor(5, 1), 1 / (5 + 1e-6));  // torch.nn.utils.clip_grad_norm_
    EXPECT_DOUBLE_EQ(clip_factor(0.5, 1), 1);
    EXPECT_DOUBLE_EQ(clip_factor(5, 0), 1);
}

}  // namespace
}  // namespace plimsoll::engine
