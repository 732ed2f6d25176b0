// SPDX-License-Identifier: Apache-2.0
// The words in the files of a run are for ever: here they are spelled once more, by hand.
#include "core/telemetry/contract/event_kind.h"

#include <gtest/gtest.h>

#include <set>

namespace plimsoll {
namespace {

TEST(EventKinds, NamesInTheFileDoNotChange) {
    const std::vector<std::pair<EventKind, std::string>> written{{EventKind::Start, "start"},
                                                                 {EventKind::Resume, "resume"},
                                                                 {EventKind::Damaged, "damaged"},
                                                                 {EventKind::Checkpoint, "checkpoint"},
                                                                 {EventKind::Validation, "validation"},
                                                                 {EventKind::Sample, "sample"},
                                                                 {EventKind::Memory, "memory"},
                                                                 {EventKind::Pipeline, "pipeline"},
                                                                 {EventKind::Overflow, "overflow"},
                                                                 {EventKind::Nonfinite, "nonfinite"},
                                                                 {EventKind::Spike, "spike"},
                                                                 {EventKind::LossSpike, "loss_spike"},
                                                                 {EventKind::Rollback, "rollback"},
                                                                 {EventKind::NoiseScale, "noise_scale"},
                                                                 {EventKind::RangeTest, "range_test"},
                                                                 {EventKind::Stop, "stop"},
                                                                 {EventKind::End, "end"},
                                                                 {EventKind::Error, "error"},
                                                                 {EventKind::Supervise, "supervise"},
                                                                 {EventKind::StopRequested, "stop_requested"},
                                                                 {EventKind::Stopped, "stopped"},
                                                                 {EventKind::Failed, "failed"},
                                                                 {EventKind::Finished, "finished"}};
    ASSERT_EQ(written.size(), event_kinds.size());
    for (const auto& [kind, name] : written) {
        EXPECT_EQ(name_of(kind), name);
        EXPECT_EQ(event_kind(name), kind);
        EXPECT_EQ(RecordedKind::read(name), kind);
        EXPECT_EQ(RecordedKind::read(name).name(), name);
    }
}

TEST(EventKinds, WordsOfOtherVersionsAreKeptAndWarn) {
    const RecordedKind kind = RecordedKind::read("melted");
    EXPECT_FALSE(kind.known());
    EXPECT_EQ(kind.name(), "melted");
    EXPECT_EQ(kind.tone(), EventTone::Warning);
    EXPECT_TRUE(kind.listed());
    EXPECT_FALSE(kind == EventKind::Failed);
    EXPECT_FALSE(kind == RecordedKind::read("frozen"));
    EXPECT_FALSE(RecordedKind() == EventKind::Start);
}

TEST(EventKinds, EveryFindingOfTheGuardIsOne) {
    std::set<std::string> found;
    for (const EventKindFacts& facts : event_kinds)
        if (is_finding(facts.kind)) found.emplace(facts.name);
    EXPECT_EQ(found, (std::set<std::string>{"loss_spike", "nonfinite", "spike"}));
    for (const std::string& name : found) EXPECT_EQ(RecordedKind::read(name).tone(), EventTone::Bad);
}

}  // namespace
}  // namespace plimsoll
