// SPDX-License-Identifier: Apache-2.0
#include "core/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace plimsoll {
namespace {

Result<int> half(int number) {
    if (number % 2 != 0) return bad_input("{} is odd", number);
    return number / 2;
}

Result<void> require_small(int number) {
    if (number > 10) return failed("{} is too large", number);
    return {};
}

Result<std::string> quarter(int number) {
    PLIMSOLL_CHECK(require_small(number));
    PLIMSOLL_TRY(const int first, half(number));
    PLIMSOLL_TRY(const auto second, half(first));
    return std::to_string(second);
}

TEST(Result, TryDeclaresTheValue) {
    const auto made = quarter(8);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(*made, "2");
}

TEST(Result, TryReturnsTheFirstError) {
    const auto made = quarter(6);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "3 is odd");
    EXPECT_EQ(made.error().kind, Error::Kind::BadInput);
}

TEST(Result, CheckReturnsTheErrorAndIgnoresAValue) {
    const auto made = quarter(12);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "12 is too large");
    EXPECT_EQ(made.error().kind, Error::Kind::Failed);

    const auto checked = [](int number) -> Result<void> {
        if (number != 0) PLIMSOLL_CHECK(half(number));
        return {};
    };
    EXPECT_TRUE(checked(4));
    EXPECT_FALSE(checked(5));
}

TEST(Result, ValueThatOnlyMovesIsMoved) {
    const auto make = [](bool fails) -> Result<std::unique_ptr<int>> {
        if (fails) return bad_input("no number");
        return std::make_unique<int>(7);
    };
    const auto pass = [&](bool fails) -> Result<std::shared_ptr<int>> {
        PLIMSOLL_TRY(auto number, make(fails));
        *number += 1;
        return number;
    };
    const auto passed = pass(false);
    ASSERT_TRUE(passed);
    EXPECT_EQ(**passed, 8);
    EXPECT_EQ(pass(true).error().message, "no number");
}

TEST(Result, ResultThatSomeoneElseHoldsStaysWhole) {
    Result<std::string> held = std::string("a text that is longer than a short string holds inline");
    const auto size = [&]() -> Result<std::size_t> {
        PLIMSOLL_TRY(const auto text, held);
        PLIMSOLL_TRY(const auto& same, held);
        EXPECT_EQ(&same, &*held);
        return text.size();
    };
    EXPECT_EQ(size().value(), held->size());
    EXPECT_FALSE(held->empty());

    held = failed("lost");
    EXPECT_FALSE(size());
    EXPECT_EQ(held.error().message, "lost");
}

TEST(Result, AndThenGoesOnWithTheValueOrKeepsTheError) {
    EXPECT_EQ(half(8).and_then(half).value(), 2);
    EXPECT_EQ(half(6).and_then(half).error().message, "3 is odd");
    EXPECT_EQ(require_small(3).and_then([] { return half(2); }).value(), 1);
    EXPECT_EQ(half(5).and_then([](int) { return Result<void>(); }).error().message, "5 is odd");
}

TEST(Result, CopyOfAResultIsTheSame) {
    // A copy must not take the Result itself for a value: bool and vector<Result<…>> could be made of one.
    Result<bool> no = false;
    Result<bool> copy(no);
    EXPECT_EQ(copy.value(), false);
    Result<bool> bad = bad_input("unknown");
    Result<bool> also(bad);
    EXPECT_FALSE(also.has_value());

    Result<const char*> text = "words";
    Result<std::string> wider = text;
    EXPECT_EQ(wider.value(), "words");
}

struct Lock {
    static constexpr bool must_be_kept = true;
};
// PLIMSOLL_CHECK(RunLock::take(...)) gave a run's lock back before the run began.
static_assert(must_be_kept<Result<Lock>> && must_be_kept<const Result<Lock>&>);
static_assert(!must_be_kept<Result<int>> && !must_be_kept<Result<void>>);

}  // namespace
}  // namespace plimsoll
