// SPDX-License-Identifier: Apache-2.0
// What events hold: as it was written by earlier versions, there and back, and what a damaged record may say.
#include "core/telemetry/contract/event_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

/// Details as recorded in runs, kind by kind: reading and writing gives the same text.
template <class Contents>
void expect_there_and_back(const char* recorded) {
    const Json details = Json::parse(recorded);
    const auto read = Contents::from_json(details);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->to_json().dump(), details.dump());
    Json more = details;
    more["of_a_later_version"] = {1, 2};
    const auto again = Contents::from_json(more);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->to_json().dump(), details.dump()) << "unknown members are passed over";
}

TEST(EventContents, WhatWasRecordedComesBackAsItWas) {
    const std::string start =
        R"("parameters":1,"trained_parameters":2,"world_size":3,"dtype":"bf16","device":"cpu","corpus":"c",)"
        R"("corpus_bytes":4,"train_bytes":5,"steps":6,"seed":7,"buckets":8,"host":"h","pid":9,"version":"0.1")";
    expect_there_and_back<StartEvent>(("{" + start + "}").c_str());
    expect_there_and_back<ResumeEvent>(("{" + start + R"(,"resumed_from":3,"samples":24})").c_str());
    expect_there_and_back<CheckpointEvent>(R"({"path":"step-00000020","bytes":4096,"seconds":0.5})");
    expect_there_and_back<ValidationEvent>(R"({"loss":2.5})");
    expect_there_and_back<SampleEvent>(R"({"prompt":"In the "})");
    expect_there_and_back<MemoryEvent>(
        R"({"rank":1,"peak":30,"live":20,"categories":{"Parameters":10,"Activations":20},)"
        R"("live_categories":{"Parameters":10,"Activations":10},"routing":[[1,2],[3,0]]})");
    expect_there_and_back<MemoryEvent>(R"({"rank":0,"peak":30,"live":20,"categories":{},"live_categories":{}})");
    expect_there_and_back<PipelineEvent>(
        R"({"pp_rank":1,"origin":1700000000.5,"ops":[["F0",0.0,0.25],["B0",0.5,1.0]]})");
    expect_there_and_back<OverflowEvent>(R"({"scale":65536.0,"next_scale":32768.0})");
    expect_there_and_back<FindingEvent>(
        R"({"reason":"r","action":"cut_lr","loss":null,"grad_norm":3.5,"samples":624,"tensor":"layers.1.weight",)"
        R"("layer":"1","pass":"forward","lr_factor":0.8})");
    expect_there_and_back<RollbackEvent>(R"({"from":40,"to":30,"samples":312})");
    expect_there_and_back<NoiseScaleEvent>(
        R"({"noise_scale":900.0,"batch_tokens":512.0,"measurements":20,"bigger_batch_pays":true})");
    expect_there_and_back<RangeTestEvent>(R"({"steepest":0.1,"lowest":0.2,"suggestion":0.01,"diverged":1.5})");
    expect_there_and_back<RangeTestEvent>(R"({"steepest":0.1,"lowest":0.2,"suggestion":0.01})");
}

TEST(EventContents, WhatAnEventCannotBeWithoutIsNamed) {
    const Json none = Json::object();
    EXPECT_THAT(MemoryEvent::from_json(none).error().message, testing::HasSubstr("\"memory\" does not say its peak"));
    EXPECT_THAT(PipelineEvent::from_json(none).error().message, testing::HasSubstr("\"pipeline\""));
    EXPECT_THAT(PipelineEvent::from_json({{"origin", 1}}).error().message, testing::HasSubstr("its operations"));
    EXPECT_THAT(ValidationEvent::from_json(none).error().message, testing::HasSubstr("its loss"));
    EXPECT_FALSE(RollbackEvent::from_json(none));
    EXPECT_FALSE(NoiseScaleEvent::from_json(none));
    EXPECT_FALSE(RangeTestEvent::from_json(none));
    const auto op = PipelineEvent::from_json({{"origin", 1}, {"ops", {{"F0", 0, 1}, {"B0", "late", 2}}}});
    ASSERT_FALSE(op);
    EXPECT_THAT(op.error().message, testing::HasSubstr("operation 1 of the event \"pipeline\""));
}

TEST(EventContents, MembersOfOtherTypesCountAsMissing) {
    for (const Json& details : {Json(), Json(3), Json::array(), Json({{"seconds", "long"}, {"bytes", 1.5}})}) {
        const auto checkpoint = CheckpointEvent::from_json(details);
        ASSERT_TRUE(checkpoint);
        EXPECT_EQ(checkpoint->seconds, 0);
        EXPECT_EQ(checkpoint->bytes, 0);
    }
    EXPECT_FALSE(MemoryEvent::from_json({{"peak", "much"}, {"categories", 3}}));
    EXPECT_FALSE(MemoryEvent::from_json({{"peak", -5}}));
    const auto memory = MemoryEvent::from_json(
        {{"peak", 5}, {"rank", -1}, {"categories", {{"A", -3}, {"B", "x"}}}, {"routing", {{1, 2}, {"x"}}}});
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->rank, 0);
    EXPECT_EQ(memory->categories, (NamedBytes{{"A", 0}}));
    EXPECT_EQ(bytes_of(memory->categories, "A"), 0);
    EXPECT_EQ(bytes_of(memory->categories, "none"), 0);
    EXPECT_TRUE(memory->routing.empty());
    const auto finding = FindingEvent::from_json({{"loss", nullptr}, {"samples", -4}, {"tensor", "x"}});
    ASSERT_TRUE(finding);
    EXPECT_FALSE(finding->loss);
    EXPECT_FALSE(finding->samples);
    EXPECT_FALSE(finding->place);
    EXPECT_FALSE(finding->lr_factor);
}

}  // namespace
}  // namespace plimsoll
