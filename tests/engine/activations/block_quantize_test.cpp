// SPDX-License-Identifier: Apache-2.0
#include "core/engine/activations/block_quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plimsoll::engine {
namespace {

using torch::Tensor;

Tensor there_and_back(const Tensor& flat) { return dequantize_blocks(quantize_blocks(flat), flat.scalar_type()); }

/// The largest error, as a share of the largest magnitude of its block.
double worst_share(const Tensor& flat, const Tensor& back) {
    double worst = 0;
    for (std::int64_t begin = 0; begin < flat.numel(); begin += QuantizedBlocks::block) {
        const std::int64_t length = std::min(QuantizedBlocks::block, flat.numel() - begin);
        const Tensor block = flat.narrow(0, begin, length).to(torch::kDouble);
        const Tensor error = (back.narrow(0, begin, length).to(torch::kDouble) - block).abs();
        worst = std::max(worst, error.max().item<double>() / block.abs().max().item<double>());
    }
    return worst;
}

TEST(BlockQuantize, ErrsByHalfAStepOfTheBlockAtMost) {
    torch::manual_seed(1);
    for (const std::int64_t count :
         {std::int64_t{1}, std::int64_t{255}, std::int64_t{256}, std::int64_t{1000}, (std::int64_t{1} << 20) + 300}) {
        const Tensor flat = torch::randn({count}) * torch::pow(10, torch::linspace(-4, 4, count));
        const QuantizedBlocks blocks = quantize_blocks(flat);
        EXPECT_EQ(blocks.codes.numel(), count);
        EXPECT_EQ(blocks.codes.scalar_type(), torch::kChar);
        EXPECT_EQ(blocks.scales.numel(), (count + 255) / 256);
        EXPECT_LE(worst_share(flat, there_and_back(flat)), 0.5 / 127 * 1.0001) << count;
    }
}

TEST(BlockQuantize, KeepsTheDtype) {
    torch::manual_seed(1);
    for (const auto dtype : {torch::kBFloat16, torch::kHalf, torch::kDouble}) {
        const Tensor flat = torch::randn({700}).to(dtype);
        const Tensor back = there_and_back(flat);
        EXPECT_EQ(back.scalar_type(), dtype);
        // bf16 rounds the result by 2^-9 of it once more.
        EXPECT_LE(worst_share(flat, back), 0.5 / 127 + 1.0 / 512);
    }
}

TEST(BlockQuantize, MeetsZerosAndTheLargestNumbersExactly) {
    EXPECT_TRUE(torch::equal(there_and_back(torch::zeros({300})), torch::zeros({300})));
    EXPECT_TRUE(there_and_back(torch::empty({0})).sizes() == torch::IntArrayRef{0});
    Tensor sparse = torch::zeros({600});
    sparse[5] = 127 * 0.25;
    sparse[300] = -127 * 8;
    EXPECT_TRUE(torch::equal(there_and_back(sparse), sparse));
}

TEST(BlockQuantize, StaysFiniteAtTheEndsOfTheRange) {
    for (const double size : {1e-45, 3e-44, 1e-40, 1e-38, 3e38}) {
        const Tensor flat = torch::linspace(-1, 1, 300) * size;
        const Tensor back = there_and_back(flat);
        EXPECT_TRUE(back.isfinite().all().item<bool>()) << size;
        EXPECT_LE((back - flat).abs().max().item<double>(), std::max(size / 127, 128 * 1.5e-45)) << size;
    }
}

TEST(BlockQuantize, WhatIsNotFiniteMarksItsBlock) {
    for (const double bad :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")}) {
        Tensor flat = torch::ones({600});
        flat[300] = bad;
        const Tensor back = there_and_back(flat);
        EXPECT_TRUE(back.narrow(0, 256, 256).isnan().all().item<bool>());
        EXPECT_TRUE(torch::equal(back.narrow(0, 0, 256), torch::ones({256})));
        EXPECT_TRUE(torch::equal(back.narrow(0, 512, 88), torch::ones({88})));
    }
}

}  // namespace
}  // namespace plimsoll::engine
