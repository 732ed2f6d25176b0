// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/contract/series.h"

#include <gtest/gtest.h>

#include <set>

namespace plimsoll {
namespace {

TEST(Series, NamesAndUnitsInTheFileDoNotChange) {
    const std::set<std::pair<std::string, std::string>> written{
        {"loss", ""},         {"validation_loss", ""},   {"router_loss", ""},      {"z_loss", ""},
        {"lr", ""},           {"loss_scale", ""},        {"grad_norm", ""},        {"tokens_per_second", "tokens/s"},
        {"step_time", "s"},   {"data_time", "s"},        {"wait_time", "s"},       {"memory", "B"},
        {"memory_peak", "B"}, {"memory_step_peak", "B"}, {"noise_scale", "tokens"}};
    std::set<std::pair<std::string, std::string>> held;
    for (const SeriesFacts& each : all_series) {
        held.emplace(each.name, each.unit);
        EXPECT_EQ(unit_of(each.name), each.unit);
        EXPECT_TRUE(is_series(each.name));
    }
    EXPECT_EQ(held, written);
    EXPECT_EQ(held.size(), all_series.size()) << "one name twice";
}

TEST(Series, NormsByLayerAreSeriesWithoutUnitAndOtherNamesAreNone) {
    EXPECT_TRUE(is_series("grad_norm/embed"));
    EXPECT_EQ(unit_of("grad_norm/embed"), "");
    EXPECT_FALSE(is_series("memory@1"));
    EXPECT_FALSE(is_series(""));
    EXPECT_EQ(unit_of("anything"), "");
}

}  // namespace
}  // namespace plimsoll
