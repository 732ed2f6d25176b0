// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/validation/bubble_cases.h"
#include "core/validation/bubble_rates.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

constexpr const char* columns = "p,m,forward_ms,backward_input_ms,backward_weight_ms,comm_ms,bubble_1f1b\n";

std::string error_of(const std::string& csv) {
    const auto cases = read_bubble_cases(csv);
    return cases ? "" : cases.error().message;
}

TEST(ReadBubbleCases, ReadsRowsInAnyOrderOfColumns) {
    const auto cases = read_bubble_cases(
        "# measured\nm, p,comm_ms,forward_ms,backward_input_ms,backward_weight_ms,chunks,bubble_zb_h1\r\n"
        "24,8,0.5,10,9,\"8\",3,.1585\r\n\n");
    ASSERT_TRUE(cases) << cases.error().message;
    ASSERT_EQ(cases->size(), 1u);
    const auto& one = cases->front();
    EXPECT_EQ(one.ranks, 8);
    EXPECT_EQ(one.micro_batches, 24);
    EXPECT_EQ(one.chunks, 3);
    EXPECT_DOUBLE_EQ(one.forward, 0.010);
    EXPECT_DOUBLE_EQ(one.backward_weight, 0.008);
    EXPECT_DOUBLE_EQ(one.send, 0.0005);
    ASSERT_EQ(one.published.size(), 1u);
    EXPECT_DOUBLE_EQ(one.published[0].second, 0.1585);
}

TEST(ReadBubbleCases, ErrorsNameTheLineAndTheColumn) {
    EXPECT_THAT(error_of(""), HasSubstr("no rows"));
    EXPECT_THAT(error_of("p,m\n1,2\n"), HasSubstr("no column forward_ms"));
    EXPECT_THAT(error_of(std::string(columns) + "8,24,1,1,1\n"), HasSubstr("line 2 has 5 values for 7 columns"));
    EXPECT_THAT(error_of(std::string(columns) + "8,24,x,1,1,0,0.1\n"), HasSubstr("line 2: forward_ms is \"x\""));
    EXPECT_THAT(error_of(std::string(columns) + "8,24,-1,1,1,0,0.1\n"), HasSubstr("must be 0 or more"));
    EXPECT_THAT(error_of(std::string(columns) + "8,2.5,1,1,1,0,0.1\n"), HasSubstr("m is 2.5"));
    EXPECT_THAT(error_of(std::string(columns) + "0,2,1,1,1,0,0.1\n"), HasSubstr("p is 0"));
    EXPECT_THAT(error_of(std::string(columns) + "8,24,nan,1,1,0,0.1\n"), HasSubstr("must be a number"));
}

TEST(BubbleRates, RefuseMoreThanCanBeLaidOut) {
    const BubbleCase huge{1'000'000, 1'000'000, 1, 1, 1, 0, {}, {}, {}};
    EXPECT_THAT(bubble_rates(huge).error().message, HasSubstr("more than the"));
}

}  // namespace
}  // namespace plimsoll
