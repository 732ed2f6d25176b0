// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/hardware.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/gpu.h"

namespace plimsoll {
namespace {

TEST(Hardware, IsTheDatasheets) {
    Cluster cluster{"A100 SXM4 80GB", 8, 4, 0, 25};
    const auto h = hardware_of(cluster, Dtype::Bf16);
    ASSERT_TRUE(h);
    EXPECT_EQ(h->peak, 312e12);
    EXPECT_EQ(h->memory, 2039e9);
    EXPECT_EQ(h->node_link, 300e9);
    EXPECT_EQ(h->nic, 25e9);
    EXPECT_EQ(h->host_link, 32e9);
    EXPECT_EQ(h->processors, 108);
    EXPECT_EQ(h->a_node, 8);
    EXPECT_EQ(hardware_of(cluster, Dtype::Fp32)->peak, 19.5e12);
    cluster.gpu = "GeForce RTX 4090";
    EXPECT_EQ(hardware_of(cluster, Dtype::Bf16)->node_link, 32e9) << "without NVLink cards talk over PCIe";
}

TEST(Hardware, EachArchitectureHasItsEfficiencies) {
    Cluster cluster{"A100 SXM4 80GB", 8, 1, 0, 25};
    const auto a100 = hardware_of(cluster, Dtype::Bf16);
    cluster.gpu = "H100 SXM5 80GB";
    const auto h100 = hardware_of(cluster, Dtype::Bf16);
    ASSERT_TRUE(a100 && h100);
    EXPECT_LT(h100->efficiency.matmul, a100->efficiency.matmul);
    EXPECT_EQ(h100->efficiency.memory, a100->efficiency.memory);
    for (const auto& gpu : gpu_catalogue()) {
        cluster.gpu = gpu.name;
        const auto h = hardware_of(cluster, Dtype::Fp16);
        ASSERT_TRUE(h) << gpu.name;
        EXPECT_GE(h->processors, 40) << gpu.name;
        EXPECT_GT(h->efficiency.matmul, 0.3) << gpu.name;
        EXPECT_LE(h->efficiency.matmul, 1) << gpu.name;
        EXPECT_LE(h->efficiency.node_link, 1) << gpu.name;
        EXPECT_LE(h->efficiency.memory, 1) << gpu.name;
    }
}

TEST(Hardware, Fp16IsSlowOnCpusAndBf16IsNot) {
    Cluster cluster;
    cluster.gpu = "cpu";
    const double fp32 = hardware_of(cluster, Dtype::Fp32, "")->peak;
    // A step of the demo: 0.19 s in fp32, 1.30 s in fp16.
    EXPECT_NEAR(hardware_of(cluster, Dtype::Fp16, "")->peak, fp32 / 8, fp32 * 1e-9);
    EXPECT_EQ(hardware_of(cluster, Dtype::Bf16, "")->peak, fp32);
}

TEST(Hardware, UnknownGpusAndKeysAreNamed) {
    EXPECT_THAT(hardware_of({"A1000", 8, 1, 0, 25}, Dtype::Bf16).error().message, testing::HasSubstr("A1000"));
    Efficiency e;
    EXPECT_THAT(read_efficiency({{"matmull", 1}}, "file", e).error().message,
                testing::HasSubstr("file: there is no efficiency \"matmull\""));
    EXPECT_THAT(read_efficiency({{"matmul", "much"}}, "file", e).error().message, testing::HasSubstr("0 or more"));
    EXPECT_FALSE(read_efficiency({{"matmul", -1}}, "file", e));
    EXPECT_FALSE(read_efficiency(Json::array(), "file", e));
    EXPECT_TRUE(read_efficiency({{"matmul", 0.5}, {"source", "me"}}, "file", e));
    EXPECT_EQ(e.matmul, 0.5);
}

}  // namespace
}  // namespace plimsoll
