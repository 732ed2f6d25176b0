// SPDX-License-Identifier: Apache-2.0
// A parameter split over ranks is updated as if it were whole.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "tests/support/small_parts.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

/// Ranks as threads, in a grid: rank r holds row shard r / columns and column shard r % columns of the matrices.
struct Grid {
    Grid(std::vector<std::int64_t> row_splits, std::vector<std::int64_t> column_splits)
        : rows(std::move(row_splits)),
          columns(std::move(column_splits)),
          barrier(ranks()),
          published(rows.size() * columns.size()) {}
    std::ptrdiff_t ranks() const { return static_cast<std::ptrdiff_t>(rows.size() * columns.size()); }

    std::vector<std::int64_t> rows, columns;  ///< of each shard
    std::barrier<> barrier;
    std::vector<std::vector<Tensor>> published;
    int sums = 0;  ///< taken by rank 0
};

class ThreadSums final : public PartSums {
public:
    ThreadSums(Grid& grid, std::size_t rank, std::vector<bool> is_vector)
        : grid_(grid), rank_(rank), is_vector_(std::move(is_vector)) {}

    Result<void> sum(Over over, const std::vector<std::pair<std::size_t, Tensor>>& values) override {
        std::vector<Tensor>& own = grid_.published[rank_];
        own.clear();
        for (const auto& [part, tensor] : values) own.push_back(tensor.clone());
        if (rank_ == 0) ++grid_.sums;
        grid_.barrier.arrive_and_wait();
        for (std::size_t k = 0; k < values.size(); ++k) {
            Tensor total = values[k].second;
            total.zero_();
            for (std::size_t other = 0; other < grid_.published.size(); ++other) {
                if (together(over, is_vector_[values[k].first], other)) total += grid_.published[other].at(k);
            }
        }
        grid_.barrier.arrive_and_wait();
        return {};
    }

private:
    /// Vectors are whole on each column of the grid.
    bool together(Over over, bool is_vector, std::size_t other) const {
        const std::size_t width = grid_.columns.size();
        const bool same_row = other / width == rank_ / width, same_column = other % width == rank_ % width;
        if (over == Over::Rows) return same_column;
        if (over == Over::Columns) return is_vector ? other == rank_ : same_row;
        return is_vector ? same_column : true;
    }

    Grid& grid_;
    std::size_t rank_;
    std::vector<bool> is_vector_;
};

std::int64_t start_of(const std::vector<std::int64_t>& splits, std::size_t shard) {
    return std::accumulate(splits.begin(), splits.begin() + static_cast<std::ptrdiff_t>(shard), std::int64_t{0});
}

/// Rank `rank`'s part of a matrix [72, 64] or larger by a multiple, or of a vector of as many rows.
Tensor shard(const Grid& grid, std::size_t rank, const Tensor& whole) {
    const std::size_t r = rank / grid.columns.size(), c = rank % grid.columns.size();
    const std::int64_t times = whole.size(0) / 72;
    const Tensor rows = whole.narrow(0, times * start_of(grid.rows, r), times * grid.rows[r]);
    return whole.dim() < 2 ? rows.clone() : rows.narrow(1, start_of(grid.columns, c), grid.columns[c]).clone();
}

/// Steps `wholes` as a whole and in shards; gives the largest difference at the end, in parameters and states.
double difference_to_whole(const Optimizer& settings, Grid& grid, const std::vector<Tensor>& wholes, int steps) {
    std::vector<OptimizedPart> parts;
    std::vector<bool> is_vector;
    for (const Tensor& whole : wholes) {
        parts.push_back(whole_part(fmt::format("p{}", parts.size()), whole.clone()));
        is_vector.push_back(whole.dim() < 2);
    }
    std::vector<std::vector<Tensor>> gradients;
    for (int step = 1; step <= steps; ++step) gradients.push_back(random_gradients(parts, step));
    const auto reference = optimizer_of(parts, settings);
    for (int step = 1; step <= steps; ++step) {
        EXPECT_TRUE(reference->step(gradients[static_cast<std::size_t>(step - 1)], 0.01, 1, 0.5));
    }

    std::vector<double> differences(static_cast<std::size_t>(grid.ranks()), 0);
    std::vector<std::thread> ranks;
    for (std::size_t rank = 0; rank < differences.size(); ++rank) {
        ranks.emplace_back([&, rank] {
            std::vector<OptimizedPart> own = parts;
            for (std::size_t i = 0; i < own.size(); ++i) own[i].parameter = shard(grid, rank, wholes[i]);
            ThreadSums sums(grid, rank, is_vector);
            const auto optimizer = optimizer_of(own, settings, &sums);
            for (const auto& of_step : gradients) {
                std::vector<Tensor> shards;
                for (const Tensor& gradient : of_step) shards.push_back(shard(grid, rank, gradient));
                EXPECT_TRUE(optimizer->step(shards, 0.01, 1, 0.5));
            }
            const auto compare = [&](const Tensor& ours, const Tensor& theirs) {
                EXPECT_EQ(ours.sizes(), theirs.sizes());
                if (ours.numel() == 0) return;
                differences[rank] = std::max(differences[rank], (ours - theirs).abs().max().item<double>());
            };
            for (std::size_t i = 0; i < own.size(); ++i) {
                compare(own[i].parameter, shard(grid, rank, parts[i].parameter));
            }
            const auto states = optimizer->state(), whole_states = reference->state();
            for (std::size_t k = 0; k < states.size(); ++k) {
                Tensor theirs = whole_states[k].tensor;
                if (states[k].shape == StateShape::Columns) {
                    const std::size_t c = rank % grid.columns.size();
                    theirs = theirs.narrow(0, start_of(grid.columns, c), grid.columns[c]);
                } else {
                    theirs = shard(grid, rank, theirs);
                }
                compare(states[k].tensor, theirs);
            }
        });
    }
    for (std::thread& rank : ranks) rank.join();
    return *std::max_element(differences.begin(), differences.end());
}

std::vector<Tensor> matrix_and_vector() {
    torch::manual_seed(9);
    return {torch::randn({72, 64}), torch::randn({72})};
}

/// Elementwise rules do not see the split; the others sum in another order.
double tolerance_of(const Optimizer& settings) {
    return settings.kind == OptimizerKind::Lamb || settings.kind == OptimizerKind::Adafactor ? 1e-6 : 0;
}

TEST(OptimizerSharding, RowsOverRanksGiveTheWhole) {
    for (const Optimizer& settings : every_optimizer()) {
        for (const auto& rows : {std::vector<std::int64_t>{36, 36}, {24, 0, 48}}) {
            Grid grid(rows, {64});
            EXPECT_LE(difference_to_whole(settings, grid, matrix_and_vector(), 5), tolerance_of(settings))
                << name_of(settings);
        }
    }
}

TEST(OptimizerSharding, ColumnsOverRanksGiveTheWhole) {
    for (const Optimizer& settings : every_optimizer()) {
        if (settings.kind == OptimizerKind::AdamW8bit) continue;  // other blocks, so other roundings
        for (const auto& rows : {std::vector<std::int64_t>{72}, {30, 42}}) {
            Grid grid(rows, {40, 24});
            EXPECT_LE(difference_to_whole(settings, grid, matrix_and_vector(), 5), tolerance_of(settings))
                << name_of(settings);
        }
    }
}

TEST(OptimizerSharding, LargeMatricesAreUpdatedToTheLastNumber) {
    // 2.6 chunks of a million numbers as a whole, less than one a rank.
    for (const Optimizer& settings : every_optimizer()) {
        torch::manual_seed(2);
        Grid grid({24, 24, 24}, {64});
        EXPECT_LE(difference_to_whole(settings, grid, {torch::randn({72 * 600, 64})}, 2), tolerance_of(settings))
            << name_of(settings);
    }
}

TEST(OptimizerSharding, LambSumsOnceAStepAndAdafactorFourTimes) {
    for (const auto& [kind, sums] : {std::pair{OptimizerKind::Lamb, 1},
                                     {OptimizerKind::Adafactor, 4},
                                     {OptimizerKind::AdamW, 0},
                                     {OptimizerKind::Sgd, 0}}) {
        Optimizer settings;
        settings.kind = kind;
        Grid grid({36, 36}, {64});
        difference_to_whole(settings, grid, matrix_and_vector(), 3);
        EXPECT_EQ(grid.sums, 3 * sums) << name_of(settings);
    }
}

TEST(OptimizerSharding, AFailedSumIsTheStepsError) {
    struct Broken : PartSums {
        Result<void> sum(Over, const std::vector<std::pair<std::size_t, Tensor>>&) override {
            return failed("a rank was lost");
        }
    } broken;
    for (const OptimizerKind kind : {OptimizerKind::Lamb, OptimizerKind::Adafactor}) {
        Optimizer settings;
        settings.kind = kind;
        const auto parts = two_parts();
        const auto done = optimizer_of(parts, settings, &broken)->step(random_gradients(parts, 1), 0.01, 1, 1);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().message, "a rank was lost");
        EXPECT_TRUE(torch::equal(parts[0].parameter, two_parts()[0].parameter));
    }
}

}  // namespace
}  // namespace plimsoll::engine
