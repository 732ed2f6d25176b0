// SPDX-License-Identifier: Apache-2.0
// The closed form against peaks that others measured on GPUs and published.
#include <gtest/gtest.h>

#include "tests/estimate/plans.h"

namespace plimsoll {
namespace {

/// Rows of shared/data/measured-peaks.csv of eager dense training with full or no recomputation: torchtitan, FSDP2,
/// AdamW, reserved memory as PyTorch counts it. Fully sharded fp32 weights, gradients and moments are 16 B / N a
/// parameter, as here.
struct PublishedPeak {
    const char* row;
    std::vector<std::string> settings;
    double gib;
};

void PrintTo(const PublishedPeak& published, std::ostream* out) { *out << published.row; }

std::vector<std::string> qwen3_32b(std::vector<std::string> layout) {
    layout.insert(layout.end(), {"model.num_layers=64", "model.hidden_size=5120", "model.num_heads=64",
                                 "model.num_kv_heads=8", "model.head_dim=128", "model.ffn_hidden_size=25600",
                                 "model.vocab_size=151936", "data.sequence_length=4096", "layout.recompute=full"});
    return layout;
}

class Published : public testing::TestWithParam<PublishedPeak> {};

TEST_P(Published, PeakIsWithinEightPercent) {
    auto settings = GetParam().settings;
    settings.push_back("layout.zero_stage=3");
    const auto rank = estimated(gpu_plan("llama-3-8b", settings)).stages.at(0);
    // The CUDA context and NCCL's buffers are outside PyTorch's count.
    const auto outside = bytes_of_term(rank, "cuda_context") + bytes_of_term(rank, "nccl");
    const double reserved = static_cast<double>(rank.total() - outside) / static_cast<double>(GiB);
    EXPECT_NEAR(reserved / GetParam().gib, 1, 0.08) << reserved << " GiB, published " << GetParam().gib;
}

INSTANTIATE_TEST_SUITE_P(
    Peaks, Published,
    testing::Values(
        PublishedPeak{"R055",
                      {"layout.dp=2", "layout.tp=2", "layout.sequence_parallel=true", "data.sequence_length=8192"},
                      67.19},
        PublishedPeak{
            "R070", qwen3_32b({"layout.dp=4", "layout.tp=8", "layout.sequence_parallel=true", "layout.micro_batch=16"}),
            43.45},
        PublishedPeak{
            "R071", qwen3_32b({"layout.dp=4", "layout.tp=8", "layout.sequence_parallel=true", "layout.micro_batch=32"}),
            70.79},
        PublishedPeak{"R074", qwen3_32b({"layout.dp=8", "layout.micro_batch=1"}), 81.47},
        PublishedPeak{"R075", qwen3_32b({"layout.dp=8", "layout.micro_batch=2"}), 89.33}));

}  // namespace
}  // namespace plimsoll
