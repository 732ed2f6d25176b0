// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/writer.h"
#include "core/base/json.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

#include "core/telemetry/reader.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(TelemetryWriter, FileHasTheDocumentedBytes) {
    const TempFolder folder;
    auto writer = TelemetryWriter::open(folder / "rank-0.rec");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->points(7, 2.0, {{series::loss, 1.0}}));
    const std::string bytes = contents_of(folder / "rank-0.rec");
    ASSERT_EQ(bytes.size(), 8U + 8 + 11 + 8 + 29);
    EXPECT_EQ(bytes.substr(0, 8), "PLMSREC1");
    EXPECT_EQ(bytes.substr(8, 4), std::string("\x0b\x00\x00\x00", 4));
    EXPECT_EQ(bytes.substr(16, 11), std::string("\x01\x00\x00\x04\x00loss\x00\x00", 11));
    EXPECT_EQ(bytes.substr(35, 9), std::string("\x02\x07\x00\x00\x00\x00\x00\x00\x00", 9));
    EXPECT_EQ(bytes.substr(44, 8), std::string("\x00\x00\x00\x00\x00\x00\x00\x40", 8));
    EXPECT_EQ(bytes.substr(52), std::string("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0\x3f", 12));
}

TEST(TelemetryWriter, ContinuedFileKeepsItsSeriesAndPoints) {
    const TempFolder folder;
    const auto path = folder / "r.rec";
    {
        auto writer = TelemetryWriter::open(path);
        ASSERT_TRUE(writer->points(1, 1, {{series::loss, 3}, {series::lr, 0.1}}));
    }
    {
        auto writer = TelemetryWriter::open(path);
        ASSERT_TRUE(writer->points(2, 2, {{series::memory, 5}, {series::lr, 0.2}}));
    }
    TelemetryReader reader(path);
    const auto batch = reader.poll();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->points.at(series::loss).size(), 1U);
    ASSERT_EQ(batch->points.at(series::lr).size(), 2U);
    EXPECT_EQ(batch->points.at(series::lr)[1].value, 0.2);
    EXPECT_EQ(batch->points.at(series::memory)[0].value, 5);
    EXPECT_EQ(reader.units().at(series::memory), "B");
    EXPECT_EQ(reader.units().at(series::loss), "");
}

TEST(TelemetryWriter, TornTailIsCutAtEveryByteOffset) {
    const TempFolder folder;
    const auto whole = folder / "whole.rec";
    {
        auto writer = TelemetryWriter::open(whole);
        ASSERT_TRUE(writer->points(1, 1, {{series::loss, 3}}));
        ASSERT_TRUE(writer->event({1, 1, EventKind::Sample, "In the beginning", {}}));
        ASSERT_TRUE(writer->points(2, 2, {{series::loss, 2}, {series::lr, 0.2}}));
    }
    const std::string bytes = contents_of(whole);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        const auto path = folder / "cut.rec";
        put_contents(path, bytes.substr(0, cut));
        {
            auto writer = TelemetryWriter::open(path);
            if (!writer) {
                ADD_FAILURE() << "cut at " << cut << ": " << writer.error().message;
                continue;
            }
            ASSERT_TRUE(writer->points(3, 3, {{series::loss, 1}}));
        }
        TelemetryReader reader(path);
        const auto batch = reader.poll();
        ASSERT_TRUE(batch) << batch.error().message;
        EXPECT_EQ(reader.damaged(), 0U) << "cut at " << cut;
        EXPECT_EQ(batch->points.at(series::loss).back().step, 3U) << "cut at " << cut;
        EXPECT_EQ(batch->points.at(series::loss).back().value, 1) << "cut at " << cut;
    }
}

TEST(TelemetryWriter, KilledProcessLeavesWholeRecordsOnly) {
    const TempFolder folder;
    const auto path = folder / "killed.rec";
    const pid_t child = ::fork();
    if (child == 0) {
        auto writer = TelemetryWriter::open(path);
        for (std::uint64_t step = 0;; ++step) {
            if (!writer->points(step, 0, {{series::loss, static_cast<double>(step)}})) ::_exit(1);
        }
    }
    ::usleep(30'000);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    TelemetryReader reader(path);
    std::uint64_t next = 0;
    do {
        const auto batch = reader.poll();
        ASSERT_TRUE(batch);
        if (!batch->points.contains(series::loss)) continue;
        for (const Point& point : batch->points.at(series::loss)) {
            ASSERT_EQ(point.step, next);
            ASSERT_EQ(point.value, static_cast<double>(next++));
        }
    } while (!reader.at_end());
    EXPECT_GT(next, 10U);
    EXPECT_EQ(reader.damaged(), 0U);
}

TEST(TelemetryWriter, FullDiskIsAnErrorThatLeavesNoHalfRecord) {
    const TempFolder folder;
    const auto path = folder / "full.rec";
    auto writer = TelemetryWriter::open(path);
    ASSERT_TRUE(writer->points(1, 1, {{series::loss, 3}}));
    const auto size = std::filesystem::file_size(path);
    // A file size limit in the middle of the next record acts as the full disk: write(2) comes back short.
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const rlimit tight{size + 20, old.rlim_max};
    ::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    const auto written = writer->points(2, 2, {{series::loss, 2}, {series::lr, 1}});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, Error::Kind::Failed);
    EXPECT_NE(written.error().message.find("file size limit"), std::string::npos) << written.error().message;
    EXPECT_EQ(std::filesystem::file_size(path), size);
    // The room is back: the series that failed to be defined is defined now.
    ASSERT_TRUE(writer->points(3, 3, {{series::loss, 1}, {series::lr, 1}}));
    TelemetryReader reader(path);
    const auto batch = reader.poll();
    EXPECT_EQ(batch->points.at(series::loss).size(), 2U);
    EXPECT_EQ(batch->points.at(series::lr).at(0).step, 3U);
}

TEST(TelemetryWriter, DeviceThatIsFullIsRefused) {
    const auto writer = TelemetryWriter::open("/dev/full");
    ASSERT_FALSE(writer);
    EXPECT_NE(writer.error().message.find("not a regular file"), std::string::npos);
}

TEST(TelemetryWriter, SecondWriterOfAFileIsRefused) {
    const TempFolder folder;
    const auto first = TelemetryWriter::open(folder / "r.rec");
    const auto second = TelemetryWriter::open(folder / "r.rec");
    ASSERT_TRUE(first);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("another process is writing it"), std::string::npos);
}

TEST(TelemetryWriter, ForeignFileIsNotTouched) {
    const TempFolder folder;
    put_contents(folder / "notes.txt", "not a record file");
    const auto writer = TelemetryWriter::open(folder / "notes.txt");
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().kind, Error::Kind::BadInput);
    EXPECT_EQ(contents_of(folder / "notes.txt"), "not a record file");
}

TEST(TelemetryWriter, TooMuchForOneRecordIsAnErrorAndTheFileStaysGood) {
    const TempFolder folder;
    auto writer = TelemetryWriter::open(folder / "r.rec");
    EXPECT_FALSE(writer->points(1, 1, {{std::string(300, 'x'), 1}}));
    EXPECT_FALSE(writer->points(1, 1, {{"", 1}}));
    EXPECT_FALSE(writer->event({1, 1, EventKind::Sample, std::string(2 * MiB, 'x'), {}}));
    ASSERT_TRUE(writer->points(1, 1, {{series::loss, 1}}));
    TelemetryReader reader(folder / "r.rec");
    EXPECT_EQ(reader.poll()->points.at(series::loss).size(), 1U);
    EXPECT_EQ(reader.damaged(), 0U);
}

TEST(TelemetryWriter, NanAndInfinitiesAreRecordedAsTheyAre) {
    const TempFolder folder;
    auto writer = TelemetryWriter::open(folder / "r.rec");
    const double infinity = std::numeric_limits<double>::infinity();
    ASSERT_TRUE(
        writer->points(1, 1, {{series::loss, std::nan("")}, {series::lr, infinity}, {series::grad_norm, -infinity}}));
    TelemetryReader reader(folder / "r.rec");
    const auto batch = reader.poll();
    EXPECT_TRUE(std::isnan(batch->points.at(series::loss)[0].value));
    EXPECT_EQ(batch->points.at(series::lr)[0].value, infinity);
    EXPECT_EQ(batch->points.at(series::grad_norm)[0].value, -infinity);
}

TEST(TelemetryWriter, EventTextThatIsNotUtf8IsMended) {
    const TempFolder folder;
    auto writer = TelemetryWriter::open(folder / "r.rec");
    ASSERT_TRUE(
        writer->event({5, 1.5, EventKind::Sample, "In the \xff beginning", Json{{"bytes", 12}, {"kind", "x"}}}));
    TelemetryReader reader(folder / "r.rec");
    const auto batch = reader.poll();
    ASSERT_EQ(batch->events.size(), 1U);
    EXPECT_EQ(batch->events[0].step, 5U);
    EXPECT_EQ(batch->events[0].time, 1.5);
    EXPECT_EQ(batch->events[0].kind, EventKind::Sample);
    EXPECT_EQ(batch->events[0].sentence, "In the \xef\xbf\xbd beginning");
    EXPECT_EQ(batch->events[0].details.dump(), R"({"bytes":12})");
}

/// Flips a bit of the file at the first place behind `from` that holds `text`.
void flip_at(const std::filesystem::path& path, const std::string& text, std::size_t from = 0) {
    std::string bytes = contents_of(path);
    const std::size_t at = bytes.find(text, from);
    ASSERT_NE(at, std::string::npos);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    put_contents(path, bytes);
}

TEST(TelemetryWriter, AFlippedBitInTheHeadIsMendedWhenTheFileIsContinued) {
    for (const std::size_t steps : {0U, 1U, 50U}) {
        for (std::size_t at = 0; at < record_magic.size(); ++at) {
            const TempFolder folder;
            const auto path = folder / "r.rec";
            {
                auto writer = TelemetryWriter::open(path);
                for (std::size_t step = 1; step <= steps; ++step)
                    ASSERT_TRUE(writer->points(step, 1, {{series::loss, 1}}));
            }
            const std::string whole = contents_of(path);
            std::string damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
            put_contents(path, damaged);
            TelemetryReader early(path);
            const auto read = early.poll();
            ASSERT_TRUE(read) << read.error().message;
            EXPECT_EQ(read->points.contains(series::loss) ? read->points.at(series::loss).size() : 0, steps);
            EXPECT_EQ(early.damaged(), 1U) << "it is told";

            auto writer = TelemetryWriter::open(path);
            ASSERT_TRUE(writer) << writer.error().message;
            EXPECT_EQ(contents_of(path), whole);
            ASSERT_TRUE(writer->points(steps + 1, 1, {{series::loss, 1}}));
            TelemetryReader reader(path);
            EXPECT_EQ(reader.poll()->points.at(series::loss).size(), steps + 1);
            EXPECT_EQ(reader.damaged(), 0U);
        }
    }
}

TEST(TelemetryWriter, ADamagedDeclarationIsMendedByTheNext) {
    const TempFolder folder;
    const auto path = folder / "r.rec";
    auto writer = TelemetryWriter::open(path);
    ASSERT_TRUE(writer->points(1, 1, {{series::loss, 1}, {series::lr, 10}}));
    ASSERT_TRUE(writer->points(2, 2, {{series::loss, 2}, {series::lr, 20}}));
    flip_at(path, "loss");
    TelemetryReader reader(path);
    auto batch = reader.poll();
    ASSERT_TRUE(batch);
    EXPECT_FALSE(batch->points.contains(series::loss));
    EXPECT_EQ(batch->points.at(series::lr).size(), 2U);
    EXPECT_EQ(reader.damaged(), 1U);
    EXPECT_EQ(reader.unnamed(), 2U);

    writer->declare_again();
    ASSERT_TRUE(writer->points(3, 3, {{series::loss, 3}, {series::lr, 30}}));
    batch = reader.poll();
    const auto& loss = batch->points.at(series::loss);
    ASSERT_EQ(loss.size(), 3U) << "those from before are named now";
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(loss[i].step, i + 1);
        EXPECT_EQ(loss[i].value, static_cast<double>(i + 1));
    }
    EXPECT_EQ(reader.unnamed(), 0U);
    EXPECT_EQ(TelemetryReader(path).poll()->points.at(series::loss).size(), 3U) << "also for who reads it afresh";
}

TEST(TelemetryWriter, ContinuedFileDeclaresItsSeriesAgainAndGivesNoIdTwice) {
    const TempFolder folder;
    const auto path = folder / "r.rec";
    {
        auto writer = TelemetryWriter::open(path);
        ASSERT_TRUE(writer->points(1, 1, {{series::loss, 1}, {series::lr, 10}}));
    }
    flip_at(path, "lr");
    auto writer = TelemetryWriter::open(path);
    // The id of the rate, which nothing declares any more, must not become that of another series.
    ASSERT_TRUE(writer->points(2, 2, {{series::grad_norm, 5}, {series::loss, 2}, {series::lr, 20}}));
    TelemetryReader reader(path);
    const auto batch = reader.poll();
    EXPECT_EQ(batch->points.at(series::loss).size(), 2U);
    EXPECT_EQ(batch->points.at(series::grad_norm).size(), 1U);
    ASSERT_EQ(batch->points.at(series::lr).size(), 1U);
    EXPECT_EQ(batch->points.at(series::lr)[0].value, 20);
    EXPECT_EQ(reader.unnamed(), 1U);
    // A second damage, now to the first declaration of the loss, costs nothing: there is a second one.
    flip_at(path, "loss");
    EXPECT_EQ(TelemetryReader(path).poll()->points.at(series::loss).size(), 2U);
}

TEST(TelemetryWriter, UnnamedValuesOfALeftBranchAreForgotten) {
    const TempFolder folder;
    const auto path = folder / "r.rec";
    auto writer = TelemetryWriter::open(path);
    for (std::uint64_t step = 1; step <= 6; ++step) ASSERT_TRUE(writer->points(step, 1, {{series::loss, 1}}));
    flip_at(path, "loss");
    writer->declare_again();
    ASSERT_TRUE(writer->points(4, 2, {{series::loss, 2}}));
    TelemetryReader reader(path);
    const auto batch = reader.poll();
    const auto& loss = batch->points.at(series::loss);
    ASSERT_EQ(loss.size(), 4U);
    EXPECT_EQ(loss[2].value, 1);
    EXPECT_EQ(loss[3].value, 2);
}

}  // namespace
}  // namespace plimsoll
