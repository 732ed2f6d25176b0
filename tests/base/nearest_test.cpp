// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/nearest.h"

namespace plimsoll {
namespace {

const std::vector<std::string> keys{"model", "cluster", "layout", "numerics", "dp", "tp"};

TEST(Nearest, AMisspeltNameFindsTheOneThatWasMeant) {
    EXPECT_EQ(nearest_name("layuot", keys), "layout");
    EXPECT_EQ(nearest_name("Cluster", keys), "cluster");
    EXPECT_EQ(nearest_name("numeric", keys), "numerics");
    EXPECT_EQ(nearest_name("ddp", keys), "dp");
}

TEST(Nearest, AnUnrelatedNameFindsNothing) {
    EXPECT_EQ(nearest_name("wheelbarrow", keys), "");
    EXPECT_EQ(nearest_name("x", {"lr", "eps"}), "");
    EXPECT_EQ(nearest_name("", keys), "");
    EXPECT_EQ(nearest_name("layout", {}), "");
}

TEST(Nearest, AMegabyteOfNameIsSearchedQuickly) { EXPECT_EQ(nearest_name(std::string(1'000'000, 'a'), keys), ""); }

TEST(Nearest, TheHintIsPartOfASentence) {
    EXPECT_EQ(did_you_mean("layuot", keys), " (did you mean \"layout\"?)");
    EXPECT_EQ(did_you_mean("wheelbarrow", keys), "");
}

}  // namespace
}  // namespace plimsoll
