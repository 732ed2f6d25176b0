// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/collective_time.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

Hardware eight_a_node() {
    Hardware h;
    h.node_link = 300e9, h.nic = 25e9, h.a_node = 8;
    h.efficiency.node_link = h.efficiency.nic = 1;
    h.efficiency.node_hop = h.efficiency.nic_hop = 0;
    return h;
}

TEST(Group, RanksOfANodeDependOnTheirStride) {
    const auto h = eight_a_node();
    EXPECT_EQ(group_of(8, 1, h).a_node, 8);
    EXPECT_TRUE(group_of(8, 1, h).one_node());
    EXPECT_EQ(group_of(64, 1, h).a_node, 8);
    EXPECT_EQ(group_of(16, 4, h).a_node, 2);
    EXPECT_EQ(group_of(16, 8, h).a_node, 1);
    EXPECT_EQ(group_of(16, 64, h).a_node, 1);
    EXPECT_EQ(group_of(2, 1, h).a_node, 2);
}

TEST(AllReduce, RingSendsTwiceAllButOwnShare) {
    const auto h = eight_a_node();
    EXPECT_DOUBLE_EQ(all_reduce_time(h, {8, 8}, 8e9, CollectiveKind::Flat), 2 * 7.0 / 8 * 8e9 / 300e9);
    EXPECT_EQ(all_reduce_time(h, {1, 1}, 8e9), 0);
    // One rank a node: each node's single card is the ring's link.
    EXPECT_DOUBLE_EQ(all_reduce_time(h, {4, 1}, 1e9, CollectiveKind::Flat), 2 * 3.0 / 4 * 1e9 / 25e9);
    // Eight rails of 25 GB/s are less than NVLink's 300.
    EXPECT_DOUBLE_EQ(all_reduce_time(h, {16, 8}, 1e9, CollectiveKind::Flat), 2 * 15.0 / 16 * 1e9 / 200e9);
    // Twice the network: NVLink binds.
    auto fast = h;
    fast.nic = 50e9;
    EXPECT_DOUBLE_EQ(all_reduce_time(fast, {16, 8}, 1e9, CollectiveKind::Flat), 2 * 15.0 / 16 * 1e9 / 300e9);
}

TEST(AllReduce, HierarchicalIsInsideAndBetweenNodes) {
    const auto h = eight_a_node();
    const double inside = 2 * 7.0 / 8 * 1e9 / 300e9, between = 2 * 3.0 / 4 * 1e9 / 8 / 25e9;
    EXPECT_DOUBLE_EQ(all_reduce_time(h, {32, 8}, 1e9, CollectiveKind::Hierarchical), inside + between);
}

TEST(AllReduce, TwoGroupsOfFourSendAsMuchAsOneOfEightInFewerHops) {
    auto h = eight_a_node();
    EXPECT_DOUBLE_EQ(grouped_all_reduce_time(h, {8, 8}, 4, 8e9), all_reduce_time(h, {8, 8}, 8e9, CollectiveKind::Flat));
    h.efficiency.node_hop = 1e-5;
    EXPECT_LT(grouped_all_reduce_time(h, {8, 8}, 4, 1e3), all_reduce_time(h, {8, 8}, 1e3, CollectiveKind::Flat));
    // A size that does not divide the ranks means the ring.
    EXPECT_EQ(grouped_all_reduce_time(h, {8, 8}, 3, 1e3), all_reduce_time(h, {8, 8}, 1e3, CollectiveKind::Flat));
    EXPECT_EQ(grouped_all_reduce_time(h, {8, 8}, 8, 1e3), all_reduce_time(h, {8, 8}, 1e3, CollectiveKind::Flat));
}

TEST(AllReduce, TakesTheFastestWay) {
    auto h = eight_a_node();
    h.efficiency.nic_hop = 1e-5;
    // A thousand nodes and a few bytes: a tree's 20 hops beat a ring's 2,000.
    EXPECT_DOUBLE_EQ(all_reduce_time(h, {1024, 1}, 8), all_reduce_time(h, {1024, 1}, 8, CollectiveKind::Tree));
    EXPECT_NEAR(all_reduce_time(h, {1024, 1}, 8), 20 * 1e-5, 1e-7);
    for (const double bytes : {1e3, 1e6, 1e9})
        for (const auto kind : {CollectiveKind::Flat, CollectiveKind::Tree, CollectiveKind::Hierarchical})
            EXPECT_LE(all_reduce_time(h, {64, 8}, bytes), all_reduce_time(h, {64, 8}, bytes, kind));
}

TEST(AllGather, IsHalfARing) {
    const auto h = eight_a_node();
    for (const Group group : {Group{8, 8}, Group{16, 8}, Group{4, 1}})
        EXPECT_DOUBLE_EQ(2 * all_gather_time(h, group, 1e9), all_reduce_time(h, group, 1e9, CollectiveKind::Flat));
}

TEST(AllToAll, WhatLeavesTheNodeGoesOverItsOwnCard) {
    const auto h = eight_a_node();
    EXPECT_DOUBLE_EQ(all_to_all_time(h, {8, 8}, 8e6), 7.0 / 8 * 8e6 / 300e9);
    EXPECT_DOUBLE_EQ(all_to_all_time(h, {16, 8}, 16e6), 8e6 / 25e9);
}

}  // namespace
}  // namespace plimsoll
