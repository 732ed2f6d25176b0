// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/json.h"
#include "core/schedule/plan_pipeline/chrome_trace.h"
#include "core/schedule/plan_pipeline/svg.h"

namespace plimsoll {
namespace {

Pipeline interleaved() {
    return *simulate_pipeline(Schedule::Interleaved, {2, 4, 2}, StageTimes::uniform(4, 1, 1, 1, 0.5));
}

TEST(ChromeTrace, HoldsEveryOpAndBothEndsOfEveryArrow) {
    const auto pipeline = interleaved();
    const auto events = Json::parse(chrome_trace(pipeline));
    std::size_t ops = 0;
    std::map<std::int64_t, std::pair<double, double>> arrows;
    for (const auto& event : events) {
        const auto phase = event.at("ph").get<std::string>();
        if (phase == "X") {
            const auto rank = event.at("tid").get<std::size_t>();
            bool found = false;
            for (const auto& timed : pipeline.timeline.ranks[rank])
                found |= timed.op.micro_batch == event["args"]["micro_batch"] &&
                         timed.op.chunk == event["args"]["chunk"] &&
                         std::abs(timed.start * 1000 - event["ts"].get<double>()) < 1e-3 &&
                         std::abs((timed.end - timed.start) * 1000 - event["dur"].get<double>()) < 1e-3;
            EXPECT_TRUE(found) << event.dump();
            ++ops;
        }
        if (phase == "s") arrows[event["id"]].first = event["ts"];
        if (phase == "f") arrows[event["id"]].second = event["ts"];
    }
    EXPECT_EQ(ops, 2u * 4 * 4);            // forward and backward of 4 micro-batches on 4 stages
    EXPECT_EQ(arrows.size(), 3u * 4 * 2);  // 3 links, down and up
    for (const auto& [id, ends] : arrows) {
        EXPECT_GT(ends.first, 0) << id;
        EXPECT_GT(ends.second, ends.first) << id;
    }
}

TEST(PipelineSvg, DrawsEveryOpToScale) {
    const auto pipeline = interleaved();
    const auto svg = pipeline_svg(pipeline);
    EXPECT_THAT(svg, testing::StartsWith("<svg "));
    EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
    std::size_t titles = 0;
    for (auto at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) ++titles;
    EXPECT_EQ(titles, 32u);
    EXPECT_THAT(svg, testing::HasSubstr("<title>forward of micro-batch 0 0 to 1</title>"));
    EXPECT_THAT(svg, testing::HasSubstr("interleaved 1F1B: 2 ranks × 2 chunks, 4 micro-batches, bubble"));
    EXPECT_THAT(svg, testing::HasSubstr("idle "));
}

}  // namespace
}  // namespace plimsoll
