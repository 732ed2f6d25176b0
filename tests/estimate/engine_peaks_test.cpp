// SPDX-License-Identifier: Apache-2.0
// The closed form against what the engine's counting allocator measured.
#include <gtest/gtest.h>

#include "core/plan/machine.h"
#include "core/plan/settings.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

/// A tiny LLaMA (or GPT-2) with some settings, and the peak of all tensor bytes in the second training step of one
/// rank: weights, gradients, AdamW, forward, backward. Engine on LibTorch 2.11, CPU, one thread.
struct MeasuredPeak {
    std::vector<std::string> settings;
    Bytes peak;
    double tolerance = 0.001;
    /// Of a peak in a product of 16 bits: what oneDNN's packed operands are of it, on a processor where it packs them.
    Bytes packed = 0;
};

const std::vector<std::string> llama{"model.family=llama",        "model.hidden_size=128",
                                     "model.num_layers=4",        "model.num_heads=4",
                                     "model.num_kv_heads=2",      "model.head_dim=0",
                                     "model.ffn_hidden_size=344", "model.vocab_size=256",
                                     "layout.micro_batch=8",      "data.sequence_length=128",
                                     "numerics.dtype=fp32",       "numerics.attention=flash",
                                     "cluster.gpu=cpu",           "layout.dp=2"};
const std::string gpt2 = "gpt2";
const std::vector<std::string> gpt2_settings{
    "model.family=gpt2",       "model.norm=layernorm",     "model.position=learned", "model.activation=gelu",
    "model.num_kv_heads=4",    "model.qkv_bias=true",      "model.linear_bias=true", "model.tied_head=true",
    "model.max_position=1024", "model.ffn_hidden_size=512"};

void PrintTo(const MeasuredPeak& measured, std::ostream* out) {
    *out << "plan";
    for (const auto& setting : measured.settings) *out << " " << setting;
}

class EnginePeak : public testing::TestWithParam<MeasuredPeak> {};

TEST_P(EnginePeak, IsReproduced) {
    auto settings = llama;
    for (const auto& setting : GetParam().settings) {
        if (setting == gpt2)
            settings.insert(settings.end(), gpt2_settings.begin(), gpt2_settings.end());
        else
            settings.push_back(setting);
    }
    const auto plan = with_settings(Plan{}, settings);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto total = static_cast<double>(estimated(*plan).stages.at(0).total());
    const Bytes peak = GetParam().peak - (packs_half_products() ? 0 : GetParam().packed);
    EXPECT_NEAR(total / static_cast<double>(peak), 1, GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Measured, EnginePeak,
    testing::Values(
        MeasuredPeak{{}, 54'220'808}, MeasuredPeak{{"layout.recompute=full"}, 27'469'832},
        MeasuredPeak{{"numerics.attention=eager", "layout.recompute=selective"}, 54'155'272},
        MeasuredPeak{{"numerics.dtype=bf16"}, 35'076'104}, MeasuredPeak{{"model.dropout=0.1"}, 86'136'840},
        MeasuredPeak{{gpt2, "numerics.attention=eager"}, 61'543'432},
        MeasuredPeak{{gpt2, "model.dropout=0"}, 53'220'360},
        MeasuredPeak{{"model.num_layers=8", "layout.recompute=full"}, 41'183'240},
        MeasuredPeak{{"model.vocab_size=8192"}, 184'244'232},
        MeasuredPeak{
            {"data.sequence_length=512", "layout.micro_batch=2", "numerics.attention=eager", "model.num_layers=2"},
            53'483'528},
        MeasuredPeak{{"data.sequence_length=512", "layout.micro_batch=2", "numerics.attention=eager",
                      "model.num_layers=2", "layout.recompute=selective"},
                     46'667'784},
        MeasuredPeak{{"data.sequence_length=512", "layout.micro_batch=2", "numerics.attention=eager",
                      "model.num_layers=2", "layout.recompute=full"},
                     36'829'192},
        MeasuredPeak{{"data.sequence_length=512", "layout.micro_batch=2", "numerics.attention=eager",
                      "model.num_layers=2", "model.dropout=0.1"},
                     83'769'352},
        MeasuredPeak{{"data.sequence_length=512", "layout.micro_batch=2", "numerics.attention=eager",
                      "model.num_layers=2", "model.dropout=0.1", "layout.recompute=selective"},
                     57'687'944},
        MeasuredPeak{{"data.sequence_length=512", "layout.micro_batch=2", "numerics.attention=eager",
                      "model.num_layers=2", "model.dropout=0.1", "layout.recompute=full"},
                     47'394'696},
        MeasuredPeak{
            {"model.hidden_size=512", "model.ffn_hidden_size=1376", "data.sequence_length=32", "layout.micro_batch=2"},
            202'497'032},
        MeasuredPeak{{"model.hidden_size=512", "model.ffn_hidden_size=1376", "data.sequence_length=32",
                      "layout.micro_batch=2", "model.vocab_size=8192"},
                     348'486'920},
        MeasuredPeak{
            {"model.hidden_size=512", "model.ffn_hidden_size=1376", "model.vocab_size=32000", "numerics.dtype=bf16"},
            1'179'873'288},
        MeasuredPeak{{gpt2, "numerics.attention=eager", "model.dropout=0.1", "layout.recompute=full"}, 36'734'216},
        MeasuredPeak{{gpt2, "model.dropout=0.1", "layout.recompute=selective"}, 59'581'192},
        MeasuredPeak{{gpt2, "numerics.dtype=bf16", "layout.recompute=full"}, 22'784'136, 0.002, 640 * KiB},
        MeasuredPeak{{"numerics.dtype=bf16", "layout.recompute=full"}, 20'088'840, 0.004},
        MeasuredPeak{{"model.tied_head=true", "layout.recompute=full", "model.vocab_size=2048"}, 44'161'032},
        MeasuredPeak{
            {"model.hidden_size=256", "model.num_layers=6", "model.ffn_hidden_size=704", "layout.micro_batch=4"},
            133'074'952},
        MeasuredPeak{{"numerics.dtype=bf16", "numerics.fp32_gradients=true"}, 36'659'464},
        MeasuredPeak{{"model.num_kv_heads=1", "numerics.attention=eager", "data.sequence_length=256",
                      "layout.micro_batch=4", "layout.recompute=selective"},
                     56'915'976},
        MeasuredPeak{{"model.num_heads=8", "model.num_kv_heads=2", "model.head_dim=32", "numerics.attention=eager",
                      "data.sequence_length=512", "layout.micro_batch=2", "layout.recompute=full"},
                     72'521'736},
        MeasuredPeak{{"model.num_heads=8", "model.num_kv_heads=2", "model.head_dim=32", "numerics.attention=eager",
                      "data.sequence_length=512", "layout.micro_batch=2", "layout.recompute=full", "model.dropout=0.1"},
                     91'940'616},
        MeasuredPeak{{"model.num_heads=8", "model.num_kv_heads=2", "model.head_dim=32", "numerics.attention=eager",
                      "data.sequence_length=512", "layout.micro_batch=2"},
                     156'039'176}));

}  // namespace
}  // namespace plimsoll
