// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/last_step.h"
#include "core/base/json.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/telemetry/writer.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(LastRecordedStep, IsThatOfTheLastPoints) {
    const TempFolder folder;
    const auto path = folder / "rank-0.rec";
    EXPECT_EQ(last_recorded_step(path), 0U) << "not there";
    auto writer = TelemetryWriter::open(path);
    EXPECT_EQ(last_recorded_step(path), 0U) << "empty";
    ASSERT_TRUE(writer->points(7, 1, {{series::loss, 3}}));
    ASSERT_TRUE(writer->event({900, 1, EventKind::Sample, "an event is no step", Json::object()}));
    EXPECT_EQ(last_recorded_step(path), 7U);
    ASSERT_TRUE(writer->points(3, 1, {{series::loss, 3}}));
    EXPECT_EQ(last_recorded_step(path), 3U) << "a resumed run stands where it is, not where it was";
    std::ofstream(path, std::ios::binary | std::ios::app) << "torn";
    EXPECT_EQ(last_recorded_step(path), 3U);
}

TEST(LastRecordedStep, OfALongRunIsFoundFromItsTail) {
    const TempFolder folder;
    const auto path = folder / "rank-0.rec";
    auto writer = TelemetryWriter::open(path);
    ASSERT_TRUE(writer->points(1, 1, {{series::loss, 3}}));
    // Events large enough that the tail begins inside one of them, at each of several places.
    for (std::uint64_t step = 2; step < 8; ++step) {
        ASSERT_TRUE(writer->points(step, 1, {{series::loss, 3}}));
        ASSERT_TRUE(writer->event({step, 1, EventKind::Sample, std::string(900'000 + step, 'x'), Json::object()}));
        EXPECT_EQ(last_recorded_step(path), step);
    }
    EXPECT_GT(std::filesystem::file_size(path), 5'000'000U);
}

TEST(LastRecordedStep, WhatIsNoRecordHasNone) {
    const TempFolder folder;
    put_contents(folder / "text", "In the beginning");
    EXPECT_EQ(last_recorded_step(folder / "text"), 0U);
    put_contents(folder / "noise", std::string(5'000'000, '\1'));
    EXPECT_EQ(last_recorded_step(folder / "noise"), 0U);
    ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(last_recorded_step(folder / "fifo"), 0U);
    EXPECT_EQ(last_recorded_step(folder.path()), 0U);
}

}  // namespace
}  // namespace plimsoll
