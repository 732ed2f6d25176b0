// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/dynamic_codes.h"

#include <gtest/gtest.h>

namespace plimsoll::engine {
namespace {

using torch::Tensor;

TEST(DynamicCodes, MapsAreThoseOfThePaper) {
    for (const bool with_sign : {true, false}) {
        const Tensor map = dynamic_map(with_sign);
        ASSERT_EQ(map.numel(), 256);
        EXPECT_TRUE((map.narrow(0, 1, 255) > map.narrow(0, 0, 255)).all().item<bool>()) << "ascending, without doubles";
        EXPECT_EQ(map[255].item<float>(), 1);
        EXPECT_EQ((map == 0).sum().item<int>(), 1);
        // The highest decade has 64 fractions of 0.9, or 128 without a sign; the lowest 1, or 2.
        const double fraction = 0.9 / (with_sign ? 64 : 128);
        EXPECT_NEAR(map[254].item<double>(), 1 - fraction / 2, 1e-6);
        EXPECT_NEAR(map[253].item<double>(), 1 - 1.5 * fraction, 1e-6);
        const Tensor positive = map.masked_select(map > 0);
        EXPECT_NEAR(positive[0].item<double>(), with_sign ? 0.55e-6 : 0.325e-6, 1e-12);
        EXPECT_EQ(positive.numel(), with_sign ? 128 : 255);
        if (with_sign) {
            const Tensor negative = -map.masked_select(map < 0).flip(0);
            EXPECT_TRUE(torch::equal(negative, positive.narrow(0, 0, 127)));
        }
    }
}

/// What comes back of `numbers`.
Tensor coded(const Tensor& numbers, bool with_sign) {
    DynamicCodes codes(numbers.numel(), with_sign, torch::kCPU);
    codes.write(0, numbers);
    return codes.read(0, numbers.numel());
}

TEST(DynamicCodes, ErrIsBoundByTheMapsGaps) {
    torch::manual_seed(4);
    const Tensor numbers = torch::randn({256 * 9 + 17}) * torch::pow(10, torch::randn({256 * 9 + 17}) * 2);
    for (const bool with_sign : {true, false}) {
        const Tensor values = with_sign ? numbers : numbers.square();
        const Tensor back = coded(values, with_sign);
        for (std::int64_t begin = 0; begin < values.numel(); begin += 256) {
            const std::int64_t length = std::min<std::int64_t>(256, values.numel() - begin);
            const Tensor block = values.narrow(0, begin, length), error = (back.narrow(0, begin, length) - block).abs();
            const double largest = block.abs().max().item<double>();
            // Half a gap: 0.9/64 or 0.9/128 of the number's decade, relative to a tenth of it at worst; and what is
            // below the smallest number may become 0.
            const Tensor bound = block.abs() * (with_sign ? 0.45 : 0.3) + largest * 1e-6;
            EXPECT_TRUE((error <= bound).all().item<bool>());
            const double fraction = 0.9 / (with_sign ? 64 : 128);
            // A code is chosen by a number's first 11 bits, so that it may be a little more than the half.
            EXPECT_LE(error.max().item<double>(), largest * fraction * 0.55);
        }
    }
}

TEST(DynamicCodes, LargestNumberOfEachBlockIsMetExactlyWhateverItsSign) {
    torch::manual_seed(4);
    const Tensor numbers = torch::randn({256 * 40});
    const Tensor blocks = numbers.view({40, 256});
    const Tensor at = blocks.abs().argmax(1, true);
    EXPECT_TRUE(torch::equal(coded(numbers, true).view({40, 256}).gather(1, at), blocks.gather(1, at)));
    EXPECT_GT((blocks.gather(1, at) < 0).sum().item<int>(), 5) << "both signs have to occur";
}

TEST(DynamicCodes, ReadingAndWritingAgainChangesNothing) {
    torch::manual_seed(4);
    for (const double size : {1e-37, 1e-33, 1e-29, 1e-12, 1.0, 1e30}) {
        for (const bool with_sign : {true, false}) {
            const Tensor numbers = torch::randn({256 * 50 + 3}) * size;
            const Tensor once = coded(with_sign ? numbers : numbers.abs(), with_sign);
            EXPECT_TRUE(torch::equal(coded(once, with_sign), once)) << size;
        }
    }
}

TEST(DynamicCodes, ZerosAndSparseBlocksStayWhatTheyAre) {
    Tensor numbers = torch::zeros({700});
    EXPECT_TRUE(torch::equal(coded(numbers, true), numbers));
    EXPECT_TRUE(torch::equal(coded(numbers, false), numbers));
    numbers[300] = -7;
    EXPECT_TRUE(torch::equal(coded(numbers, true), numbers));
    EXPECT_TRUE(torch::equal(DynamicCodes(700, true, torch::kCPU).read(0, 700), torch::zeros({700})));
}

TEST(DynamicCodes, NumbersThatAreNotFiniteAreNotHidden) {
    for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
        Tensor numbers = torch::ones({600});
        numbers[300] = bad;
        const Tensor back = coded(numbers, true);
        EXPECT_FALSE(std::isfinite(back[300].item<float>()));
        EXPECT_EQ(back[0].item<float>(), 1) << "other blocks";
    }
}

TEST(DynamicCodes, WritesBlocksInTheMiddle) {
    DynamicCodes codes(1000, true, torch::kCPU);
    codes.write(256, torch::full({256}, 3.0F));
    codes.write(768, torch::full({232}, -2.0F));
    const Tensor expected =
        torch::cat({torch::zeros({256}), torch::full({256}, 3.0F), torch::zeros({256}), torch::full({232}, -2.0F)});
    EXPECT_TRUE(torch::equal(codes.read(0, 1000), expected));
    EXPECT_TRUE(torch::equal(codes.read(768, 232), torch::full({232}, -2.0F)));
}

}  // namespace
}  // namespace plimsoll::engine
