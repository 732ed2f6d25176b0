// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "core/plan/gpu.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::string found(const std::string& name) {
    const Result<Gpu> gpu = find_gpu(name);
    return gpu ? gpu->name : gpu.error().message;
}

/// Cells of a CSV line; quotes hold commas.
std::vector<std::string> cells(const std::string& line) {
    std::vector<std::string> out{""};
    bool quoted = false;
    for (const char c : line) {
        if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            out.emplace_back();
        else
            out.back() += c;
    }
    return out;
}

double number(const std::string& cell) { return cell.empty() ? 0 : std::stod(cell); }

TEST(GpuCatalogue, HoldsEveryGpuOfTheFactsWithItsFigures) {
    std::ifstream csv(PLIMSOLL_SOURCE_DIR "/tests/oracles/gpus.csv");
    std::string line;
    ASSERT_TRUE(std::getline(csv, line));
    std::size_t i = 0;
    for (; std::getline(csv, line); ++i) {
        const std::vector<std::string> row = cells(line);
        ASSERT_LT(i, gpu_catalogue().size());
        const Gpu& gpu = gpu_catalogue()[i];
        SCOPED_TRACE(row[0]);
        EXPECT_EQ(gpu.name, row[0]);
        EXPECT_EQ(gpu.vendor, row[1]);
        EXPECT_EQ(gpu.memory_gb, number(row[2]));
        if (!row[3].empty()) {
            EXPECT_EQ(gpu.usable_gib, number(row[3]));
        }
        EXPECT_EQ(gpu.memory_gbs, number(row[4]));
        EXPECT_EQ(gpu.bf16_tflops, number(row[5]));
        EXPECT_EQ(gpu.fp16_tflops, number(row[6]));
        EXPECT_EQ(gpu.fp8_tflops, number(row[7]));
        EXPECT_EQ(gpu.tf32_tflops, number(row[8]));
        EXPECT_EQ(gpu.fp32_tflops, number(row[9]));
        EXPECT_EQ(gpu.nvlink_gbs, number(row[10]));
        EXPECT_EQ(gpu.pcie_generation, static_cast<std::int64_t>(number(row[11])));
        EXPECT_EQ(gpu.tdp_watts, number(row[12]));
        EXPECT_EQ(gpu.compute_capability, row[13]);
    }
    EXPECT_EQ(i, 37U);
    EXPECT_EQ(gpu_catalogue().size(), 37U);
}

TEST(GpuCatalogue, EveryCardHasMemoryToUse) {
    for (const Gpu& gpu : gpu_catalogue()) {
        EXPECT_GT(gpu.usable_gib, 0.85 * gpu.memory_gb) << gpu.name;
        EXPECT_LT(gpu.usable_gib, gpu.memory_gb) << gpu.name;
    }
}

TEST(FindGpu, EveryNameAndAliasMeansItsOwnCard) {
    std::set<std::string> names;
    for (const Gpu& gpu : gpu_catalogue()) {
        EXPECT_EQ(found(gpu.name), gpu.name);
        for (const std::string& alias : gpu.aliases) EXPECT_EQ(found(alias), gpu.name);
        EXPECT_TRUE(names.insert(gpu.name).second);
    }
}

TEST(FindGpu, ReadsNamesAsPeopleAndDriversWriteThem) {
    EXPECT_EQ(found("a100-80gb sxm"), "A100 SXM4 80GB");
    EXPECT_EQ(found("A100-80GB"), "A100 SXM4 80GB");
    EXPECT_EQ(found("A100 80GB PCIe"), "A100 PCIe 80GB");
    EXPECT_EQ(found("NVIDIA A100-SXM4-80GB"), "A100 SXM4 80GB");
    EXPECT_EQ(found("h100"), "H100 SXM5 80GB");
    EXPECT_EQ(found("NVIDIA H100 80GB HBM3"), "H100 SXM5 80GB");
    EXPECT_EQ(found("H200"), "H200 SXM");
    EXPECT_EQ(found("rtx4090"), "GeForce RTX 4090");
    EXPECT_EQ(found("4090"), "GeForce RTX 4090");
    EXPECT_EQ(found("NVIDIA GeForce RTX 3090"), "GeForce RTX 3090");
    EXPECT_EQ(found("Tesla T4"), "T4");
    EXPECT_EQ(found("A10"), "A10");
    EXPECT_EQ(found("L40"), "L40");
    EXPECT_EQ(found("mi300x"), "MI300X");
    EXPECT_EQ(found("GB200"), "GB200 (per GPU)");
}

TEST(FindGpu, ANameThatMeansSeveralListsThem) {
    EXPECT_EQ(found("H100 80"), "\"H100 80\" can mean H100 PCIe 80GB or H100 SXM5 80GB; give one of them");
}

TEST(FindGpu, AnUnknownNameSaysTheNearestOrAll) {
    EXPECT_EQ(found("H1000"), "the GPU catalogue has no \"H1000\" (did you mean \"H100\"?)");
    EXPECT_THAT(found("abacus of the ancients"), HasSubstr("it has: cpu, V100 PCIe 16GB, "));
    EXPECT_THAT(found(""), HasSubstr("the GPU catalogue has no \"\""));
}

}  // namespace
}  // namespace plimsoll
