// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/elastic_batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/json.h"

namespace plimsoll {
namespace {

// What compute_elastic_config of DeepSpeed 0.18.9 gave.
TEST(ElasticBatch, IsDeepSpeeds) {
    const auto traces = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/elasticity_traces.json");
    ASSERT_TRUE(traces) << traces.error().message;
    int compared = 0, shared = 0;
    for (const Json& trace : traces->at("cases")) {
        const Json& asked = trace.at("elasticity");
        const Json& expected = trace.at("result");
        if (asked.value("version", 0.0) != 0.1 || expected.contains("error")) continue;
        ElasticRange range;
        range.max_batch = asked.at("max_train_batch_size");
        range.micro_batches = asked.at("micro_batch_sizes").get<std::vector<std::int64_t>>();
        range.min_gpus = asked.at("min_gpus");
        range.max_gpus = asked.at("max_gpus");
        range.prefer_larger = asked.at("prefer_larger_batch");
        const auto batch = elastic_batch(range);
        ASSERT_TRUE(batch) << batch.error().message;
        EXPECT_EQ(batch->batch, expected.at("final_batch_size")) << trace;
        EXPECT_EQ(batch->gpus.size(), expected.at("valid_gpus_count").get<std::size_t>()) << trace;
        std::vector<std::int64_t> first = batch->gpus;
        if (first.size() > 64) first.resize(64);
        EXPECT_EQ(Json(first), expected.at("valid_gpus")) << trace;
        ++compared;
        if (!expected.contains("micro_batch") || expected.at("micro_batch").is_null()) continue;
        const ElasticShare share = elastic_share(range, *batch, trace.at("world_size"));
        EXPECT_EQ(share.micro_batch, expected.at("micro_batch")) << trace;
        EXPECT_EQ(share.accumulation, expected.at("gradient_accumulation_steps")) << trace;
        ++shared;
    }
    EXPECT_EQ(compared, 28);
    EXPECT_GT(shared, 5);
}

// What compute_elastic_config of DeepSpeed 0.18.0 gave for elasticity 0.2 (record_elasticity.py), refusals too.
TEST(ElasticBatch, OfNodesIsDeepSpeeds) {
    const auto cases = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/elasticity_0.2.json");
    ASSERT_TRUE(cases) << cases.error().message;
    int accepted = 0, refused = 0;
    for (const Json& recorded : *cases) {
        const Json& asked = recorded.at("elasticity");
        const std::int64_t ranks = recorded.at("ranks");
        const ElasticRange range{asked.at("max_train_batch_size"),
                                 asked.at("micro_batch_sizes").get<std::vector<std::int64_t>>(), asked.at("min_gpus"),
                                 asked.at("max_gpus"), asked.at("prefer_larger_batch")};
        const auto batch =
            elastic_batch_of_nodes(range, {asked.at("num_gpus_per_node"), asked.at("model_parallel_size")}, ranks);
        const bool shared = batch && std::find(batch->gpus.begin(), batch->gpus.end(), ranks) != batch->gpus.end();
        const ElasticShare share = shared ? elastic_share(range, *batch, ranks) : ElasticShare{};
        if (!recorded.contains("batch")) {
            EXPECT_FALSE(shared && share.micro_batch > 0) << recorded;
            ++refused;
            continue;
        }
        ASSERT_TRUE(shared) << recorded << (batch ? "" : batch.error().message);
        EXPECT_EQ(batch->batch, recorded.at("batch")) << recorded;
        std::vector<std::int64_t> first = batch->gpus;
        if (first.size() > 24) first.resize(24);
        EXPECT_EQ(Json(first), recorded.at("gpus")) << recorded;
        if (batch->batch > 0) {
            EXPECT_EQ(share.micro_batch, recorded.at("micro_batch")) << recorded;
        }
        ++accepted;
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 50);
}

TEST(ElasticBatch, BadRangesAreErrors) {
    EXPECT_FALSE(elastic_batch({}));
    EXPECT_FALSE(elastic_batch({.max_batch = 4, .micro_batches = {8}}));
    EXPECT_FALSE(elastic_batch({.max_batch = 4, .micro_batches = {0}}));
    EXPECT_FALSE(elastic_batch({.max_batch = 1LL << 60, .micro_batches = {1}}));
}

}  // namespace
}  // namespace plimsoll
