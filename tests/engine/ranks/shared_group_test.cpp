// SPDX-License-Identifier: Apache-2.0
// Collectives in shared memory against Gloo and against sums made here; ranks are threads of this program.
#include "core/engine/ranks/shared_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <thread>

#include "core/engine/ranks/shared_memory/reduce_numbers.h"
#include "core/engine/ranks/shared_memory/shared_channel.h"
#include "tests/support/run_harness.h"

namespace plimsoll::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Whether a process has mapped what the ranks share.
bool shares_memory(const std::string& process) {
    std::ifstream maps("/proc/" + process + "/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return text.find("memfd:plimsoll") != std::string::npos;
}

using Body = std::function<void(Collectives&)>;

/// Runs `body` on every rank of a group; errors of ranks are test failures.
void on_ranks(int world_size, const Body& body, Seconds timeout = 20) {
    const plimsoll::testing::Store store;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
        threads.emplace_back([&, rank] {
            RankInfo info;
            info.secret = "of this test";
            info.rank = info.local_rank = rank;
            info.world_size = world_size;
            info.master_port = store.port();
            auto group = make_collectives(info, timeout);
            ASSERT_TRUE(group) << group.error().message;
            body(**group);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void on_gloo_ranks(int world_size, const Body& body) {
    ::setenv("PLIMSOLL_SHARED_MEMORY", "0", 1);
    on_ranks(world_size, body);
    ::unsetenv("PLIMSOLL_SHARED_MEMORY");
}

void expect_ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }

const std::vector<c10::ScalarType> dtypes{torch::kDouble, torch::kFloat, torch::kBFloat16, torch::kHalf,
                                          torch::kLong,   torch::kInt,   torch::kChar,     torch::kByte};
/// Nothing, odd ones, what one meeting handles, one slot and a bit, several slots and a bit.
const std::vector<std::int64_t> sizes{0, 1, 7, 4099, 131'073, 700'001};

/// Whole numbers whose sums over four ranks every dtype holds exactly, so that the order of additions is no excuse.
torch::Tensor numbers(int rank, std::int64_t count, c10::ScalarType dtype) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(100 + static_cast<std::uint64_t>(rank));
    return at::randint(0, 30, {count}, generator, torch::TensorOptions().dtype(torch::kLong)).to(dtype);
}

/// What each of the collectives gives this rank for every dtype and size.
std::vector<torch::Tensor> results_of(Collectives& group) {
    std::vector<torch::Tensor> results;
    const int n = group.world_size();
    for (const auto dtype : dtypes) {
        for (const std::int64_t count : sizes) {
            const auto mine = [&] { return numbers(group.rank(), count, dtype); };
            torch::Tensor sum = mine(), max = mine(), all = at::empty({n * count}, mine().options());
            torch::Tensor scattered = at::empty({count}, mine().options()), sent = mine();
            expect_ok(group.all_reduce_sum(sum)->wait());
            expect_ok(group.all_reduce_max(max)->wait());
            if (count > 0) {
                expect_ok(group.all_gather(all, mine())->wait());
                expect_ok(group.reduce_scatter_sum(scattered, numbers(group.rank(), n * count, dtype))->wait());
            }
            expect_ok(group.broadcast(sent, n - 1));
            for (const torch::Tensor& each : {sum, max, all, scattered, sent}) results.push_back(each);
        }
    }
    return results;
}

class SharedGroup : public ::testing::TestWithParam<int> {};

TEST_P(SharedGroup, GivesWhatGlooGivesForAllTypesAndSizes) {
    std::vector<std::vector<torch::Tensor>> shared(4), gloo(4);
    on_ranks(GetParam(), [&](Collectives& group) {
        EXPECT_TRUE(shares_memory("self"));
        shared[static_cast<std::size_t>(group.rank())] = results_of(group);
    });
    EXPECT_FALSE(shares_memory("self")) << "given back with the group";
    on_gloo_ranks(GetParam(), [&](Collectives& group) {
        EXPECT_FALSE(shares_memory("self"));
        gloo[static_cast<std::size_t>(group.rank())] = results_of(group);
    });
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(GetParam()); ++rank) {
        ASSERT_EQ(shared[rank].size(), dtypes.size() * sizes.size() * 5);
        for (std::size_t i = 0; i < shared[rank].size(); ++i) {
            if (shared[rank][i].numel() == 0) continue;
            EXPECT_TRUE(shared[rank][i].equal(gloo[rank][i]))
                << "rank " << rank << ", " << shared[rank][i].scalar_type() << " " << sizes[i / 5 % sizes.size()]
                << ", collective " << i % 5;
        }
    }
}

TEST_P(SharedGroup, AddsInTheOrderOfRanksAndHalvesInFp32) {
    const auto normal = [](int rank, c10::ScalarType dtype) {
        auto generator = at::make_generator<at::CPUGeneratorImpl>(7 + static_cast<std::uint64_t>(rank));
        return at::randn({700'001}, generator, torch::TensorOptions()).to(dtype);
    };
    on_ranks(GetParam(), [&](Collectives& group) {
        for (const auto dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf, torch::kDouble}) {
            const auto wide = dtype == torch::kDouble ? torch::kDouble : torch::kFloat;
            torch::Tensor expected = normal(0, dtype).to(wide);
            for (int rank = 1; rank < group.world_size(); ++rank) expected += normal(rank, dtype).to(wide);
            for (const std::int64_t count : {std::int64_t{1001}, std::int64_t{700'001}}) {
                torch::Tensor sum = normal(group.rank(), dtype).narrow(0, 0, count).clone();
                expect_ok(group.all_reduce_sum(sum)->wait());
                EXPECT_TRUE(sum.equal(expected.narrow(0, 0, count).to(dtype))) << dtype << " " << count;
            }
        }
    });
}

TEST_P(SharedGroup, KeepsManyOutstandingCallsInOrder) {
    on_ranks(GetParam(), [](Collectives& group) {
        const int n = group.world_size();
        std::vector<torch::Tensor> sums, parts, wholes;
        std::vector<std::shared_ptr<Work>> works;
        for (int i = 0; i < 200; ++i) {
            sums.push_back(at::full({1 + i * 997}, group.rank() + i, torch::kFloat));
            parts.push_back(at::full({1 + i * 31}, group.rank() - i, torch::kInt));
            wholes.push_back(at::empty({n * (1 + i * 31)}, torch::kInt));
            works.push_back(group.all_reduce_sum(sums.back()));
            works.push_back(group.all_gather(wholes.back(), parts.back()));
        }
        // The last first: nobody has to wait in the order of the calls.
        for (std::size_t i = works.size(); i-- > 0;) expect_ok(works[i]->wait());
        for (int i = 0; i < 200; ++i) {
            const auto k = static_cast<std::size_t>(i);
            EXPECT_TRUE(sums[k].eq(n * (n - 1) / 2 + n * i).all().item<bool>()) << i;
            for (int rank = 0; rank < n; ++rank) {
                EXPECT_TRUE(wholes[k].view({n, -1})[rank].eq(rank - i).all().item<bool>()) << i << " " << rank;
            }
        }
    });
}

TEST_P(SharedGroup, RunsWithoutAWaitBesideTheCaller) {
    // What data parallelism overlaps with backward: nobody waits, and it is done all the same.
    on_ranks(GetParam(), [](Collectives& group) {
        torch::Tensor numbers = at::ones({300'000});
        const auto work = group.all_reduce_sum(numbers);
        const volatile float* last = numbers.data_ptr<float>() + numbers.numel() - 1;
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (*last == 1 && std::chrono::steady_clock::now() < limit) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(*last, static_cast<float>(group.world_size()));
        expect_ok(work->wait());
    });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedGroup, ::testing::Values(2, 3, 4));

TEST(SharedGroups, MayBeUsedInAnyOrderAmongThemselves) {
    on_ranks(4, [](Collectives& world) {
        const int rank = world.rank();
        const auto pair = world.subgroup("pair", rank < 2 ? std::vector{0, 1} : std::vector{2, 3});
        const auto cross = world.subgroup("cross", rank % 2 == 0 ? std::vector{0, 2} : std::vector{1, 3});
        ASSERT_TRUE(pair && cross);
        torch::Tensor a = at::full({400'000}, rank, torch::kFloat), b = a.clone(), c = a.clone();
        std::vector<std::shared_ptr<Work>> works;
        // Ranks 0 and 3 begin with one group, 1 and 2 with another.
        if (rank == 0 || rank == 3) works = {(*pair)->all_reduce_sum(a), (*cross)->all_reduce_sum(b)};
        works.push_back(world.all_reduce_sum(c));
        if (rank == 1 || rank == 2) {
            works.push_back((*cross)->all_reduce_sum(b));
            works.push_back((*pair)->all_reduce_sum(a));
        }
        for (const auto& work : works) expect_ok(work->wait());
        EXPECT_TRUE(a.eq(rank < 2 ? 1 : 5).all().item<bool>());
        EXPECT_TRUE(b.eq(rank % 2 == 0 ? 2 : 4).all().item<bool>());
        EXPECT_TRUE(c.eq(6).all().item<bool>());
    });
}

TEST(SharedGroups, LeaveMessagesAndBarriersToGloo) {
    on_ranks(2, [](Collectives& group) {
        torch::Tensor sum = at::ones({5}), message = at::full({3}, group.rank(), torch::kFloat);
        const auto work = group.all_reduce_sum(sum);
        if (group.rank() == 0) {
            expect_ok(group.send(message, 1, 4)->wait());
        } else {
            expect_ok(group.receive(message, 0, 4)->wait());
            EXPECT_TRUE(message.eq(0).all().item<bool>());
        }
        expect_ok(group.barrier());
        expect_ok(work->wait());
        EXPECT_TRUE(sum.eq(2).all().item<bool>());
    });
}

TEST(SharedGroups, AMaximumShowsANanOfAnyRank) {
    on_ranks(3, [](Collectives& group) {
        torch::Tensor numbers = at::tensor({1.0F, -2.0F, -3.0F});
        if (group.rank() == 1) numbers[1] = std::numeric_limits<float>::quiet_NaN();
        if (group.rank() == 2) numbers[2] = std::numeric_limits<float>::infinity();
        expect_ok(group.all_reduce_max(numbers)->wait());
        EXPECT_EQ(numbers[0].item<float>(), 1);
        EXPECT_TRUE(std::isnan(numbers[1].item<float>()));
        EXPECT_EQ(numbers[2].item<float>(), std::numeric_limits<float>::infinity());
    });
}

TEST(SharedGroups, UnlikeCallsAreAnErrorOnAllRanks) {
    on_ranks(2, [](Collectives& group) {
        torch::Tensor numbers = at::ones({group.rank() == 0 ? 300'000 : 300'001});
        const auto result = group.all_reduce_sum(numbers)->wait();
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message, HasSubstr("another rank of the group makes another call"));
        torch::Tensor later = at::ones({1});
        EXPECT_FALSE(group.all_reduce_sum(later)->wait()) << "the ranks are at different places now";
    });
}

TEST(SharedGroups, ASilentRankIsATimeOutAndTheBoardNamesIt) {
    std::promise<void> given_up;
    const auto silence = given_up.get_future().share();
    on_ranks(
        3,
        [&](Collectives& group) {
            if (group.rank() == 1) return silence.wait();
            torch::Tensor numbers = at::ones({300'000});
            const auto begin = std::chrono::steady_clock::now();
            const auto result = group.all_reduce_sum(numbers)->wait();
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            if (group.rank() == 0) {
                ASSERT_FALSE(result);
                EXPECT_THAT(result.error().message,
                            AllOf(HasSubstr("did not answer within 3.00 s during the all-reduce of Float [300000]"),
                                  HasSubstr("rank 2 waits in the all-reduce"), HasSubstr("rank 1 waits for nothing")));
                EXPECT_GE(taken.count(), 3);
                EXPECT_LT(taken.count(), 6);
                given_up.set_value();
            }
        },
        3);
}

TEST(SharedGroups, ARankThatLeavesIsNoticedLongBeforeTheTimeOut) {
    on_ranks(
        2,
        [](Collectives& group) {
            torch::Tensor numbers = at::ones({10});
            if (group.rank() == 1) return;  // its group ends here
            const auto begin = std::chrono::steady_clock::now();
            const auto result = group.all_reduce_sum(numbers)->wait();
            ASSERT_FALSE(result);
            EXPECT_THAT(result.error().message, HasSubstr("another rank ended"));
            EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
        },
        60);
}

TEST(SharedGroups, AKilledProcessIsNoticedWithinASecondAndLeavesNothing) {
    using namespace plimsoll::testing;
    const auto names = [] {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
            if (const std::string name = entry.path().filename(); name.find("plimsoll") != std::string::npos) {
                all.push_back(name);
            }
        }
        return all;
    };
    const TemporaryFolder folder;
    Plan plan = small_plan("llama-tiny", write_corpus(folder.path()));
    plan.layout.dp = plan.cluster.gpus_per_node = 3;
    plan.layout.micro_batch = 2;
    plan.training.steps = 10'000'000;
    write_plan(folder.path() / "run", plan);
    Ranks ranks(folder.path() / "run", 3, {"--timeout", "50"});
    ASSERT_TRUE(wait_for_points(folder.path() / "run", "loss", 3)) << ranks.rank(0).errors();
    EXPECT_TRUE(shares_memory(std::to_string(ranks.rank(0).pid())));
    EXPECT_TRUE(names().empty()) << "nothing that a crash could leave";
    const auto begin = std::chrono::steady_clock::now();
    ranks.rank(1).signal(SIGKILL);
    EXPECT_EQ(ranks.rank(0).wait(), 1);
    EXPECT_EQ(ranks.rank(2).wait(), 1);
    // Noticed within a tenth of a second; the rest is the end of the processes on a busy machine.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_THAT(ranks.rank(0).last_line(), HasSubstr("the log of the rank that ended first tells the cause"));
    EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace plimsoll::engine
