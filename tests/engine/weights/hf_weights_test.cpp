// SPDX-License-Identifier: Apache-2.0
// Names and forms of weights that others saved. That transformers' own files load is tested by
// engine_transformers_reads.
#include "core/engine/weights/hf_weights.h"

#include <gmock/gmock.h>

#include <map>

#include "core/base/json.h"
#include "core/engine/weights/hf_export.h"
#include "core/engine/weights/safetensors.h"
#include "tests/support/small_models.h"
#include "tests/support/temp_folder.h"

namespace plimsoll::engine {
namespace {

using testing::HasSubstr;
using torch::Tensor;

class HfWeights : public testing::Test {
protected:
    HfWeights() {
        plan.model.num_experts = 4;
        const auto model = make_decoder(plan, 3);
        for (const auto& [name, tensor] : parameters_of(*model)) weights[name] = tensor.detach();
    }

    std::string moe(int layer) const { return fmt::format("model.layers.{}.block_sparse_moe.", layer); }
    Tensor expert(int layer, int number, const char* part) const {
        return weights.at(fmt::format("{}experts.{}.{}.weight", moe(layer), number, part));
    }
    /// The weights as transformers 5 has them in memory.
    NamedTensors fused() const {
        NamedTensors all;
        for (const auto& [name, tensor] : weights) {
            if (name.find(".experts.") == std::string::npos) {
                std::string renamed = name;
                const auto at = renamed.find("block_sparse_moe");
                if (at != std::string::npos) renamed.replace(at, 16, "mlp");
                all.emplace_back(renamed, tensor);
            }
        }
        for (int layer = 0; layer < 2; ++layer) {
            std::vector<Tensor> gate_up, down;
            for (int e = 0; e < 4; ++e) {
                gate_up.push_back(torch::cat({expert(layer, e, "w1"), expert(layer, e, "w3")}));
                down.push_back(expert(layer, e, "w2"));
            }
            const std::string mlp = fmt::format("model.layers.{}.mlp.experts.", layer);
            all.emplace_back(mlp + "gate_up_proj", torch::stack(gate_up));
            all.emplace_back(mlp + "down_proj", torch::stack(down));
        }
        return all;
    }
    Result<NamedTensors> written_and_read(const NamedTensors& tensors) {
        EXPECT_TRUE(write_safetensors(folder / "model.safetensors", tensors));
        return read_hf_weights(folder.path(), plan);
    }
    void expect_same(const Result<NamedTensors>& read) {
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->size(), weights.size());
        for (const auto& [name, tensor] : *read) {
            ASSERT_TRUE(weights.contains(name)) << name;
            EXPECT_TRUE(torch::equal(tensor, weights.at(name))) << name;
        }
    }

    TempFolder folder;
    Plan plan = small_plan("mixtral-8x7b");
    std::map<std::string, Tensor> weights;
};

TEST_F(HfWeights, ExpertsMayBeOneByOneOrAllInOneTensor) {
    expect_same(written_and_read({weights.begin(), weights.end()}));
    expect_same(written_and_read(fused()));
}

TEST_F(HfWeights, AWeightThatTheModelHasNotIsRefusedByName) {
    // What would be another model without it: biases, norms of q and k, more layers, a head of another kind.
    for (const char* extra : {"model.layers.0.self_attn.q_proj.bias", "model.layers.1.self_attn.q_norm.weight",
                              "model.layers.2.input_layernorm.weight", "score.weight", "model.layers.-1.x",
                              "model.layers.0.block_sparse_moe.experts.4.w1.weight"}) {
        NamedTensors tensors(weights.begin(), weights.end());
        tensors.emplace_back(extra, torch::zeros(3));
        const auto read = written_and_read(tensors);
        ASSERT_FALSE(read) << extra;
        EXPECT_THAT(read.error().message, HasSubstr(std::string(extra) + " is no weight of the plan's model"));
    }
}

TEST_F(HfWeights, StoredRotaryFrequenciesHaveToBeThePlans) {
    plan.model.rope_theta = 5e5;
    const Tensor frequencies = at::pow(5e5, at::arange(0, 8, 2, torch::kFloat) / 8.0).reciprocal();
    const std::string name = "model.layers.0.self_attn.rotary_emb.inv_freq";
    NamedTensors tensors(weights.begin(), weights.end());
    tensors.emplace_back(name, frequencies.to(torch::kBFloat16));
    expect_same(written_and_read(tensors));
    tensors.back().second = frequencies / 8;  // scaled by position interpolation
    const auto scaled = written_and_read(tensors);
    ASSERT_FALSE(scaled);
    EXPECT_THAT(scaled.error().message, HasSubstr("other frequencies than those of model.rope_theta 500000"));
}

TEST_F(HfWeights, TheConfigBesideThemHasToBeThePlans) {
    Json config = hf_config(plan);
    const auto read = [&] {
        EXPECT_TRUE(write_json(folder / "config.json", config));
        return written_and_read({weights.begin(), weights.end()});
    };
    expect_same(read());
    config["rms_norm_eps"] = 0.5;
    const auto other = read();
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, HasSubstr("--set model.norm_eps=0.5"));
}

TEST_F(HfWeights, FusedExpertsOfAnotherModelAreNamed) {
    for (const auto& shape :
         std::vector<std::vector<std::int64_t>>{{3, 192, 64}, {4, 190, 64}, {4, 192}, {1 << 20, 0, 5}}) {
        NamedTensors tensors = fused();
        for (auto& [name, tensor] : tensors) {
            if (name.ends_with("0.mlp.experts.gate_up_proj")) tensor = torch::zeros(shape);
        }
        const auto read = written_and_read(tensors);
        ASSERT_FALSE(read);
        EXPECT_THAT(read.error().message, HasSubstr("layers.0.mlp.experts.gate_up_proj has another shape"));
    }
}

}  // namespace
}  // namespace plimsoll::engine
