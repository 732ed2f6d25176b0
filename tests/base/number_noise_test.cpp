// SPDX-License-Identifier: Apache-2.0
#include "core/base/number_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plimsoll {
namespace {

TEST(NumberNoiseTest, ProductsOfPlainNumbersArePlain) {
    const double product = 3e-4 * 0.1;
    ASSERT_NE(product, 3e-5) << "the noise that is meant";
    EXPECT_EQ(without_noise(product), 3e-5);
    EXPECT_EQ(without_noise(0.1 + 0.2), 0.3);
    EXPECT_EQ(without_noise(-(3e-4 * 0.1)), -3e-5);
    EXPECT_EQ(without_noise(100 * (1 - 0.05)), 95);
}

TEST(NumberNoiseTest, NumbersThatNeedTheirDigitsKeepThem) {
    for (const double value : {0.0, 1.0, 3e-4, std::sqrt(2.0), 1.0 / 3, 0.1234567890123456, 1e300, 5e-324,
                               std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(without_noise(value), value);
    }
    EXPECT_TRUE(std::isnan(without_noise(std::nan(""))));
}

TEST(NumberNoiseTest, EveryNumberOfADocument) {
    const Json document{{"a", 3e-4 * 0.1}, {"b", {0.1 + 0.2, 2, "0.30000000000000004"}}};
    EXPECT_EQ(without_noise(document).dump(), R"({"a":3e-05,"b":[0.3,2,"0.30000000000000004"]})");
}

}  // namespace
}  // namespace plimsoll
