// SPDX-License-Identifier: Apache-2.0
// Names and forms of weights that others saved. That transformers' own files load is tested by
// engine_transformers_reads.
#include "core/engine/weights/hf_weights.h"

#include <gmock/gmock.h>

#include <map>

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
