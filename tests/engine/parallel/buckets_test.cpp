// SPDX-License-Identifier: Apache-2.0
// Flat memory of gradients and parameters: which parameters share a bucket, and which ranges of them a rank owns.
#include "core/engine/parallel/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/parallel/own_squares.h"

namespace plimsoll::engine {
namespace {

using ::testing::ElementsAre;
using torch::Tensor;

ParallelParameter parameter(const std::string& name, std::int64_t numel, std::size_t chunk = 0) {
    ParallelParameter parameter{name, torch::arange(numel, torch::kFloat).requires_grad_()};
    parameter.chunk = chunk;
    return parameter;
}

/// Names in each bucket, in the order in which they travel.
std::vector<std::string> contents(const Buckets& buckets) {
    std::vector<std::string> names;
    for (const Bucket& bucket : buckets.all()) {
        std::string line;
        for (const std::size_t slot : bucket.slots) line += buckets.slots()[slot].parameter.name;
        names.push_back(line);
    }
    return names;
}

DataParallelOptions of_stage(int stage, Bytes bucket_bytes = 1 * MiB) {
    DataParallelOptions options;
    options.zero_stage = stage;
    options.bucket_bytes = bucket_bytes;
    return options;
}

TEST(BucketLayouts, ShardsTileEveryParameter) {
    const std::vector<Tensor> parameters{torch::zeros({3, 5}), torch::zeros({100}), torch::zeros({1})};
    for (const int ranks : {1, 2, 3, 7}) {
        const BucketLayout layout(parameters, torch::kFloat, ranks);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            std::int64_t next = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto range = layout.range(i, rank);
                if (range.length == 0) continue;
                EXPECT_EQ(range.in_parameter, next) << ranks;
                EXPECT_EQ(range.in_shard + rank * layout.shard_numel(), layout.places()[i].begin + next) << ranks;
                EXPECT_LE(range.in_shard + range.length, layout.shard_numel()) << ranks;
                next += range.length;
            }
            EXPECT_EQ(next, parameters[i].numel()) << ranks;
        }
    }
}

TEST(BucketLayouts, CutWholeRowsWhereTheyAreAskedTo) {
    // Seven rows of five take three cache lines of 16 numbers: a third of those, in whole rows, are four rows.
    const BucketLayout layout({torch::zeros({7, 5})}, torch::kFloat, 3, 5);
    EXPECT_EQ(layout.shard_numel(), 20);
    EXPECT_EQ(layout.range(0, 0).length, 20);
    EXPECT_EQ(layout.range(0, 1).in_parameter, 20);
    EXPECT_EQ(layout.range(0, 1).length, 15);
    EXPECT_EQ(layout.range(0, 2).length, 0);
}

TEST(BucketLayouts, BucketsEndAtChunksAndWhereTheyAreFull) {
    const std::vector<ParallelParameter> parameters{parameter("a", 8), parameter("b", 8), parameter("c", 8, 1),
                                                    parameter("d", 8, 1), parameter("e", 8, 1)};
    EXPECT_THAT(contents(Buckets(parameters, 0, 1, of_stage(0))), ElementsAre("edc", "ba"));
    EXPECT_THAT(contents(Buckets(parameters, 0, 1, of_stage(0, 64))), ElementsAre("ed", "c", "ba"));
    EXPECT_THAT(contents(Buckets(parameters, 0, 1, of_stage(0, 1))), ElementsAre("e", "d", "c", "b", "a"));
}

TEST(BucketLayouts, TiedWeightsStandAloneAndFrozenOnesNowhere) {
    std::vector<ParallelParameter> parameters{parameter("a", 8), parameter("b", 8), parameter("c", 8),
                                              parameter("d", 8)};
    parameters[1].alone = true;
    parameters[2].tensor.set_requires_grad(false);
    parameters.push_back({"a again", parameters[0].tensor});
    const Buckets buckets(parameters, 0, 1, of_stage(0));
    EXPECT_THAT(contents(buckets), ElementsAre("a againd", "b"));
}

TEST(BucketLayouts, ZeroThreeHasABucketAUnit) {
    std::vector<ParallelParameter> parameters{parameter("a", 8), parameter("b", 8), parameter("c", 8)};
    parameters[1].unit = parameters[2].unit = 1;
    EXPECT_THAT(contents(Buckets(parameters, 0, 2, of_stage(3, 1))), ElementsAre("cb", "a"));
}

TEST(BucketLayouts, EachStageKeepsWhatItNeeds) {
    for (int stage = 0; stage <= 3; ++stage) {
        for (int rank = 0; rank < 2; ++rank) {
            const ParallelParameter weight = parameter("weight", 40);
            Buckets buckets({weight}, rank, 2, of_stage(stage));
            const Bucket& bucket = buckets.all().front();
            EXPECT_EQ(bucket.gradients.present(), stage < 2) << stage;
            if (stage == 0) continue;
            EXPECT_EQ(bucket.parameters.present(), stage < 3) << stage;
            // 40 numbers are three cache lines of 16, two of which lie in the first shard.
            const Tensor own = bucket.parameter_shard.narrow(0, 0, rank == 0 ? 32 : 8);
            EXPECT_TRUE(torch::equal(own, torch::arange(rank * 32, rank == 0 ? 32 : 40, torch::kFloat))) << stage;
            EXPECT_EQ(bucket.gradient_shard.numel(), 32) << stage;
        }
    }
}

TEST(OwnSquares, SumsSquaresOfWhatCountsWhileItIsOn) {
    // Norms that fp32 holds exactly: 6 and 4.
    Buckets buckets({parameter("a", 2), parameter("b", 9), parameter("c", 4)}, 0, 1, of_stage(0));
    for (Slot& slot : buckets.slots()) slot.gradient.fill_(slot.parameter.name == "a" ? 10 : 2);
    OwnSquares own(buckets);
    own.add_all();
    EXPECT_EQ(own.sum(), 0);
    own.start({false, true, true});
    own.add_all();
    EXPECT_DOUBLE_EQ(own.sum(), 36 + 16);
    own.add(buckets.all().front());
    EXPECT_DOUBLE_EQ(own.sum(), 2 * (36 + 16));
    own.stop();
    own.add_all();
    EXPECT_EQ(own.sum(), 0);
}

}  // namespace
}  // namespace plimsoll::engine
