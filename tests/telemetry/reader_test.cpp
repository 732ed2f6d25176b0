// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "core/base/printable.h"
#include "core/telemetry/writer.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

/// A file of `steps` records from step `first` on; ends[i] is its size after record i.
std::string recorded(const TempFolder& folder, std::uint64_t steps, std::vector<std::size_t>* ends = nullptr,
                     std::uint64_t first = 0) {
    const auto path = folder / "recorded.rec";
    std::filesystem::remove(path);
    auto writer = TelemetryWriter::open(path);
    for (std::uint64_t step = first; step < first + steps; ++step) {
        EXPECT_TRUE(writer->points(step, 1.0, {{series::loss, static_cast<double>(step)}, {series::lr, 0.5}}));
        if (ends) ends->push_back(std::filesystem::file_size(path));
    }
    return contents_of(path);
}

std::size_t losses(const TelemetryBatch& batch) {
    return batch.points.contains(series::loss) ? batch.points.at(series::loss).size() : 0;
}

TEST(TelemetryReader, FileThatIsNotThereYetIsAnEmptyBatch) {
    const TempFolder folder;
    TelemetryReader reader(folder / "later.rec");
    EXPECT_TRUE(reader.poll()->empty());
    EXPECT_TRUE(reader.at_end());
    auto writer = TelemetryWriter::open(folder / "later.rec");
    ASSERT_TRUE(writer->points(1, 1, {{series::loss, 3}}));
    EXPECT_EQ(losses(*reader.poll()), 1U);
    EXPECT_TRUE(reader.poll()->empty());
}

TEST(TelemetryReader, GetsEveryRecordOnceHoweverTheFileGrows) {
    const TempFolder folder;
    std::vector<std::size_t> ends;
    const std::string bytes = recorded(folder, 12, &ends);
    const auto path = folder / "growing.rec";
    TelemetryReader reader(path);
    std::uint64_t next = 0;
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        std::ofstream(path, std::ios::binary | std::ios::app) << (size == 0 ? "" : std::string(1, bytes[size - 1]));
        const auto batch = reader.poll();
        ASSERT_TRUE(batch);
        for (std::size_t i = 0; i < losses(*batch); ++i) {
            EXPECT_EQ(batch->points.at(series::loss)[i].step, next);
            EXPECT_EQ(size, ends[next]) << "as soon as it is whole";
            ++next;
        }
    }
    EXPECT_EQ(next, 12U);
    EXPECT_EQ(reader.damaged(), 0U);
}

TEST(TelemetryReader, FileCutAtAnyByteGivesExactlyTheWholeRecords) {
    const TempFolder folder;
    std::vector<std::size_t> ends;
    const std::string bytes = recorded(folder, 6, &ends);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        put_contents(folder / "cut.rec", bytes.substr(0, cut));
        TelemetryReader reader(folder / "cut.rec");
        const auto batch = reader.poll();
        ASSERT_TRUE(batch);
        const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin());
        EXPECT_EQ(losses(*batch), whole) << "cut at " << cut;
    }
}

TEST(TelemetryReader, OneFlippedByteCostsOneRecordAtMost) {
    const TempFolder folder;
    std::vector<std::size_t> ends;
    const std::string bytes = recorded(folder, 8, &ends);
    // From behind the first step: the Series records stay whole.
    for (std::size_t at = ends[0]; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
        put_contents(folder / "flipped.rec", damaged);
        TelemetryReader reader(folder / "flipped.rec");
        const auto batch = reader.poll();
        ASSERT_TRUE(batch);
        EXPECT_EQ(losses(*batch), 7U) << "flipped at " << at;
        if (at < ends[6]) {  // in the last record a wrong length looks like a torn tail
            EXPECT_EQ(reader.damaged(), 1U) << "flipped at " << at;
            EXPECT_EQ(batch->points.at(series::loss).back().step, 7U);
        }
    }
}

TEST(TelemetryReader, GarbageOfAnySizeIsPassedOver) {
    const TempFolder folder;
    const std::string bytes = recorded(folder, 3);
    const std::string more = recorded(folder, 3, nullptr, 100).substr(8);
    std::mt19937 random(1);
    for (const std::size_t size : {1UL, 7UL, 8UL, 100UL, 5UL << 20}) {
        std::string garbage(size, '\0');
        for (char& c : garbage) c = static_cast<char>(random());
        put_contents(folder / "garbage.rec", bytes + garbage + more);
        TelemetryReader reader(folder / "garbage.rec");
        std::size_t points = 0;
        int polls = 0;
        do {
            auto batch = reader.poll(1);
            ASSERT_TRUE(batch);
            points += losses(*batch);
            ASSERT_LT(++polls, 100);
        } while (!reader.at_end());
        EXPECT_EQ(points, 6U) << size;
        EXPECT_GE(reader.damaged(), 1U);
    }
}

TEST(TelemetryReader, WriterThatContinuesADamagedFileIsSeen) {
    const TempFolder folder;
    const std::string bytes = recorded(folder, 3);
    put_contents(folder / "r.rec", bytes + std::string(100, '\xff'));
    TelemetryReader reader(folder / "r.rec");
    EXPECT_EQ(losses(*reader.poll()), 3U);
    auto writer = TelemetryWriter::open(folder / "r.rec");
    EXPECT_EQ(std::filesystem::file_size(folder / "r.rec"), bytes.size());
    for (std::uint64_t step = 3; step < 9; ++step) ASSERT_TRUE(writer->points(step, 1, {{series::loss, 1}}));
    EXPECT_EQ(losses(*reader.poll()), 6U);
}

TEST(TelemetryReader, HostileLengthsAreNotFollowed) {
    const TempFolder folder;
    const std::string bytes = recorded(folder, 2);
    for (const std::uint32_t length : {0U, 1U, 0x7fffffffU, 0xffffffffU, 1024U * 1024U + 1}) {
        std::string hostile = bytes;
        put_u32(hostile, length);
        put_u32(hostile, 0);
        hostile += recorded(folder, 2, nullptr, 100).substr(8);
        put_contents(folder / "hostile.rec", hostile);
        TelemetryReader reader(folder / "hostile.rec");
        EXPECT_EQ(losses(*reader.poll()), 4U) << length;
    }
}

TEST(TelemetryReader, CraftedFileThatAsksForAChecksumAtEachByteEnds) {
    const TempFolder folder;
    // Each position looks like an event of 1 MiB with a wrong checksum.
    std::string crafted(record_magic);
    std::string unit;
    put_u32(unit, 900'000);
    put_u32(unit, 0);
    unit += "\x03";
    for (int i = 0; i < 200'000; ++i) crafted += unit + std::string(16, '\0') + "{}";
    put_contents(folder / "crafted.rec", crafted);
    TelemetryReader reader(folder / "crafted.rec");
    int polls = 0;
    do {
        ASSERT_TRUE(reader.poll(8 * MiB));
        ASSERT_LT(++polls, 10);
    } while (!reader.at_end());
}

TEST(TelemetryReader, WellFormedFramesWithNonsenseInsideDoNoHarm) {
    const TempFolder folder;
    std::string bytes(record_magic);
    std::string points("\x02");
    put_u64(points, 1);
    put_f64(points, 1);
    put_u16(points, 1);
    put_u16(points, 999);  // a series that was never defined
    put_f64(points, 1);
    put_frame(bytes, points);
    std::string event("\x03");
    put_u64(event, 1);
    put_f64(event, 1);
    put_frame(bytes, event + std::string(1000, '{') + std::string(1000, '}'));
    put_frame(bytes, event + "{\"kind\": 3, \"sentence\": [1]}");
    put_contents(folder / "odd.rec", bytes);
    TelemetryReader reader(folder / "odd.rec");
    const auto batch = reader.poll();
    ASSERT_TRUE(batch);
    EXPECT_TRUE(batch->points.empty());
    ASSERT_EQ(batch->events.size(), 1U);
    EXPECT_EQ(batch->events[0].kind, RecordedKind());
    EXPECT_EQ(batch->events[0].details["kind"], 3);
}

TEST(TelemetryReader, NamesAndSentencesOfOthersSteerNoTerminal) {
    const TempFolder folder;
    std::string bytes(record_magic);
    std::string declared("\x01");
    put_u16(declared, 7);
    const std::string name = "lo\x1b[2Jss\n";
    put_u16(declared, static_cast<std::uint16_t>(name.size()));
    declared += name;
    put_u16(declared, 2);
    declared += "\xC2\x9B";
    put_frame(bytes, declared);
    std::string points("\x02");
    put_u64(points, 1);
    put_f64(points, 1);
    put_u16(points, 1);
    put_u16(points, 7);
    put_f64(points, 2.5);
    put_frame(bytes, points);
    std::string event("\x03");
    put_u64(event, 1);
    put_f64(event, 1);
    put_frame(bytes, event + R"({"kind": "\u001b]0;x\u0007", "sentence": "one\n\u202etwo"})");
    put_contents(folder / "hostile.rec", bytes);
    TelemetryReader reader(folder / "hostile.rec");
    const auto batch = reader.poll();
    ASSERT_TRUE(batch);
    ASSERT_EQ(batch->points.size(), 1U);
    EXPECT_EQ(batch->points.begin()->first, printable(name));
    EXPECT_EQ(batch->points.begin()->first.find_first_of("\x1b\n"), std::string::npos);
    EXPECT_EQ(batch->units.begin()->second.find("\xC2\x9B"), std::string::npos);
    ASSERT_EQ(batch->events.size(), 1U);
    EXPECT_EQ(batch->events[0].kind.name().find_first_of("\x1b\x07"), std::string::npos);
    EXPECT_EQ(batch->events[0].sentence.find("\xE2\x80\xAE"), std::string::npos);
    EXPECT_NE(batch->events[0].sentence.find('\n'), std::string::npos);
}

TEST(TelemetryReader, RandomFilesNeverCrashIt) {
    const TempFolder folder;
    const std::string bytes = recorded(folder, 20);
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string mutated = bytes;
        for (int i = 0; i < 10; ++i) mutated[8 + random() % (mutated.size() - 8)] = static_cast<char>(random());
        mutated.resize(8 + random() % (mutated.size() - 8));
        put_contents(folder / "mutated.rec", mutated);
        TelemetryReader reader(folder / "mutated.rec");
        const auto batch = reader.poll();
        ASSERT_TRUE(batch);
        EXPECT_LE(losses(*batch), 20U);
    }
}

TEST(TelemetryReader, FileThatIsNoRecordFileIsAnError) {
    const TempFolder folder;
    put_contents(folder / "plan.json", "{ \"plimsoll\": 1 }");
    const auto batch = TelemetryReader(folder / "plan.json").poll();
    ASSERT_FALSE(batch);
    EXPECT_NE(batch.error().message.find("plan.json"), std::string::npos);
    ASSERT_FALSE(TelemetryReader(folder.path()).poll());
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    ASSERT_FALSE(TelemetryReader(folder / "pipe").poll());
}

TEST(TelemetryReader, HugeBacklogComesPieceByPiece) {
    const TempFolder folder;
    const auto path = folder / "backlog.rec";
    auto writer = TelemetryWriter::open(path);
    std::vector<std::pair<std::string, double>> layers;
    for (int i = 0; i < 1000; ++i) layers.emplace_back(series::layer_norm_prefix + std::to_string(i), 1.0);
    for (std::uint64_t step = 0; step < 600; ++step) ASSERT_TRUE(writer->points(step, 1, layers));
    TelemetryReader reader(path);
    std::size_t points = 0;
    int polls = 0;
    do {
        const auto batch = reader.poll(1 * MiB);
        ASSERT_TRUE(batch);
        if (batch->points.contains("grad_norm/999")) points += batch->points.at("grad_norm/999").size();
        ++polls;
    } while (!reader.at_end());
    EXPECT_EQ(points, 600U);
    EXPECT_GE(polls, 3);  // 6 MB in pieces of 2 MiB
}

TEST(TelemetryReader, ReplacedOrRewrittenFileIsReadAgainFromItsStart) {
    const TempFolder folder;
    const std::string bytes = recorded(folder, 5);
    const auto path = folder / "replaced.rec";
    put_contents(path, bytes);
    TelemetryReader reader(path);
    EXPECT_EQ(losses(*reader.poll()), 5U);
    const auto expect_replaced = [&](std::size_t points) {
        const auto batch = reader.poll();
        ASSERT_TRUE(batch);
        EXPECT_TRUE(batch->replaced);
        EXPECT_EQ(losses(*batch), points);
        EXPECT_TRUE(reader.poll()->empty());
    };
    put_contents(path, recorded(folder, 2));  // shorter, the same inode
    expect_replaced(2);
    put_contents(folder / "other.rec", bytes);  // another inode
    std::filesystem::rename(folder / "other.rec", path);
    expect_replaced(5);
    // Rewritten in place and longer than before
    put_contents(path, recorded(folder, 10, nullptr, 100));
    expect_replaced(10);
    std::filesystem::remove(path);
    EXPECT_TRUE(reader.poll()->empty());
}

TEST(TelemetryReader, ForkTakesBackTheStepsOfTheAbandonedBranch) {
    const TempFolder folder;
    const auto path = folder / "fork.rec";
    auto writer = TelemetryWriter::open(path);
    for (std::uint64_t step = 1; step <= 10; ++step) ASSERT_TRUE(writer->points(step, 1, {{series::loss, 1}}));
    ASSERT_TRUE(writer->points(10, 1, {{series::validation_loss, 1}}));
    for (std::uint64_t step = 6; step <= 8; ++step) ASSERT_TRUE(writer->points(step, 2, {{series::loss, 2}}));
    TelemetryReader reader(path);
    const auto batch = reader.poll();
    EXPECT_EQ(batch->fork, 6U);
    EXPECT_FALSE(batch->points.contains(series::validation_loss));
    const auto& loss = batch->points.at(series::loss);
    ASSERT_EQ(loss.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(loss[i].step, i + 1);
        EXPECT_EQ(loss[i].value, i < 5 ? 1 : 2);
    }
    ASSERT_TRUE(writer->points(3, 3, {{series::loss, 3}}));
    const auto second = reader.poll();
    EXPECT_EQ(second->fork, 3U);
    EXPECT_EQ(losses(*second), 1U);
    ASSERT_TRUE(writer->points(4, 3, {{series::loss, 3}}));
    EXPECT_FALSE(reader.poll()->fork);
}

}  // namespace
}  // namespace plimsoll
