// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/pyramid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <fmt/format.h>

namespace plimsoll {
namespace {

/// The same columns, point by point.
std::vector<Column> brute_force(const Pyramid& line, double from, double to, std::size_t count) {
    std::vector<Column> columns(count);
    for (std::size_t i = 0; i < line.size(); ++i) {
        const auto step = static_cast<double>(line.step(i));
        if (step < from || step >= to) continue;
        std::size_t at = 0;
        while (at + 1 < count &&
               step >= from + (to - from) * (static_cast<double>(at + 1) / static_cast<double>(count)))
            ++at;
        Column& column = columns[at];
        const double value = line.value(i);
        column.empty = false;
        if (std::isnan(value))
            column.has_nan = true;
        else if (std::isinf(value))
            column.has_inf = true;
        else {
            if (!column.has_finite()) column.first = value;
            column.last = value;
            column.min = std::min(column.min, value);
            column.max = std::max(column.max, value);
        }
    }
    return columns;
}

void expect_same(const std::vector<Column>& got, const std::vector<Column>& wanted, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].empty, wanted[i].empty) << what << ", column " << i;
        ASSERT_EQ(got[i].first, wanted[i].first) << what << ", column " << i;
        ASSERT_EQ(got[i].last, wanted[i].last) << what << ", column " << i;
        ASSERT_EQ(got[i].min, wanted[i].min) << what << ", column " << i;
        ASSERT_EQ(got[i].max, wanted[i].max) << what << ", column " << i;
        ASSERT_EQ(got[i].has_nan, wanted[i].has_nan) << what << ", column " << i;
        ASSERT_EQ(got[i].has_inf, wanted[i].has_inf) << what << ", column " << i;
    }
}

/// Random values with gaps and repeats in the steps, NaN, infinities and long stretches of NaN.
Pyramid random_line(std::mt19937& random, std::size_t size) {
    Pyramid line;
    std::uint64_t step = random() % 100;
    for (std::size_t i = 0; i < size; ++i) {
        double value = static_cast<double>(random() % 1000) - 500;
        if (random() % 50 == 0) value = std::nan("");
        if (random() % 70 == 0) value = random() % 2 == 0 ? INFINITY : -INFINITY;
        if (i / 300 % 4 == 3) value = std::nan("");
        line.append({step, 0, value});
        step += random() % 7 == 0 ? random() % 20 : random() % 3;
    }
    return line;
}

TEST(Pyramid, ColumnsEqualBruteForceAtRandomZooms) {
    std::mt19937 random(3);
    for (const std::size_t size : {1UL, 15UL, 16UL, 17UL, 255UL, 256UL, 257UL, 4096UL, 5000UL}) {
        const Pyramid line = random_line(random, size);
        const auto end = static_cast<double>(line.step(size - 1) + 1);
        for (int round = 0; round < 60; ++round) {
            double from = std::uniform_real_distribution(-10.0, end + 10)(random);
            double to = std::uniform_real_distribution(-10.0, end + 10)(random);
            if (from > to) std::swap(from, to);
            if (round % 3 == 0) from = std::floor(from), to = std::ceil(to) + 1;
            const std::size_t count = 1 + random() % 300;
            expect_same(line.query(from, to, count), brute_force(line, from, to, count),
                        fmt::format("{} points, [{}, {}) in {}", size, from, to, count));
        }
    }
}

TEST(Pyramid, TruncatedLineEqualsOneThatNeverHadTheRest) {
    std::mt19937 random(5);
    for (int round = 0; round < 60; ++round) {
        Pyramid line = random_line(random, 1 + random() % 6000);
        const auto cut = static_cast<double>(random() % (line.step(line.size() - 1) + 20));
        Pyramid wanted;
        for (std::size_t i = 0; i < line.lower_bound(cut); ++i)
            wanted.append({line.step(i), line.time(i), line.value(i)});
        line.truncate_from(static_cast<std::uint64_t>(cut));
        ASSERT_EQ(line.size(), wanted.size());
        for (std::uint64_t i = 0; i < 500; ++i) {
            const Point point{static_cast<std::uint64_t>(cut) + i, 0, static_cast<double>(random() % 10)};
            line.append(point);
            wanted.append(point);
        }
        expect_same(line.query(0, 9000, 37), wanted.query(0, 9000, 37), "after the fork");
        expect_same(line.query(0, 9000, 37), brute_force(line, 0, 9000, 37), "after the fork");
    }
}

TEST(Pyramid, OneStepSpikeAmongAMillionIsNeverHidden) {
    Pyramid line;
    const std::uint64_t spike = 567'891;
    for (std::uint64_t step = 0; step < 1'000'000; ++step) line.append({step, 0, step == spike ? 1e9 : 1.0});
    for (const std::size_t count : {1UL, 2UL, 333UL, 900UL, 3840UL}) {
        std::size_t seen = 0;
        const auto columns = line.query(0, 1e6, count);
        for (std::size_t i = 0; i < count; ++i) {
            if (columns[i].max != 1e9) continue;
            ++seen;
            EXPECT_EQ(i, spike * count / 1'000'000);
        }
        EXPECT_EQ(seen, 1U) << count;
    }
}

TEST(Pyramid, NanAndInfinityAreMarkedWhereTheyAre) {
    Pyramid line;
    for (std::uint64_t step = 0; step < 1000; ++step) {
        line.append({step, 0, step == 123 ? std::nan("") : step == 456 ? -INFINITY : 2.0});
    }
    const auto columns = line.query(0, 1000, 10);
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(columns[i].has_nan, i == 1);
        EXPECT_EQ(columns[i].has_inf, i == 4);
        EXPECT_EQ(columns[i].min, 2.0);
    }
    const auto only = line.query(123, 124, 1);
    EXPECT_FALSE(only[0].empty);
    EXPECT_FALSE(only[0].has_finite());
}

TEST(Pyramid, NonsenseRangesGiveEmptyColumns) {
    Pyramid line;
    EXPECT_TRUE(line.query(0, 10, 3)[0].empty);
    line.append({5, 0, 1});
    for (const auto& [from, to] : {std::pair{10.0, 0.0}, {5.0, 5.0}, {std::nan(""), 10.0}, {0.0, double(INFINITY)}}) {
        const auto columns = line.query(from, to, 3);
        ASSERT_EQ(columns.size(), 3U);
        for (const Column& column : columns) EXPECT_TRUE(column.empty);
    }
    EXPECT_TRUE(line.query(0, 10, 0).empty());
}

TEST(Pyramid, LiveLineDoesNotChangeWhatIsDrawnAlready) {
    std::mt19937 random(11);
    Pyramid line;
    std::vector<Column> before;
    for (std::uint64_t step = 0; step < 3000; ++step) {
        line.append({step, 0, static_cast<double>(random() % 100)});
        if (step % 100 != 99) continue;
        const auto columns = line.query(0, 3000, 30);
        const std::size_t done = step / 100;
        expect_same({columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(done)},
                    {before.begin(), before.begin() + static_cast<std::ptrdiff_t>(std::min(done, before.size()))},
                    "live");
        before = {columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(done + 1)};
    }
}

}  // namespace
}  // namespace plimsoll
