// SPDX-License-Identifier: Apache-2.0
// Models that transformers saved and adapters that PEFT saved (tests/oracles/models): the engine reads them, computes
// their logits and losses, and writes the same names and shapes. Checkpoints that PyTorch and DeepSpeed saved
// (tests/oracles/checkpoints): their values.
#include <gmock/gmock.h>

#include <map>

#include "tests/support/adapter_run.h"
#include "tests/support/temp_folder.h"

namespace plimsoll::engine {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

const fs::path recorded = PLIMSOLL_SOURCE_DIR "/tests/oracles/models";

std::map<std::string, Tensor> tensors_of(const fs::path& file) {
    const auto read = read_safetensors(file);
    EXPECT_TRUE(read) << read.error().message;
    return read ? std::map<std::string, Tensor>(read->begin(), read->end()) : std::map<std::string, Tensor>{};
}

std::map<std::string, std::vector<std::int64_t>> shapes_of(const std::map<std::string, Tensor>& tensors) {
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& [name, tensor] : tensors) shapes[name] = tensor.sizes().vec();
    return shapes;
}

/// The largest difference, as a share of the largest value.
double difference(const Tensor& found, const Tensor& expected) {
    const Tensor wanted = expected.to(torch::kDouble);
    return ((found.to(torch::kDouble) - wanted).abs().max() / wanted.abs().max()).item<double>();
}

/// A model of one rank with the weights of the folder. (The model refers to its plan.)
class Loaded {
public:
    explicit Loaded(const fs::path& folder) {
        const auto read = import_hf_config(folder / "config.json");
        EXPECT_TRUE(read) << read.error().message;
        if (!read) return;
        plan_.model = read->model;
        plan_.layout.dp = 1;
        const auto weights = read_hf_weights(folder, plan_);
        EXPECT_TRUE(weights) << weights.error().message;
        if (!weights) return;
        model_ = std::make_unique<DistributedModel>(plan_, *mesh_, *schedule_, torch::Device(torch::kCPU));
        const auto done = model_->weights().load(*weights, folder.string());
        EXPECT_TRUE(done) << done.error().message;
        model_->train(false);
    }
    explicit operator bool() const { return model_ != nullptr; }
    DistributedModel& model() { return *model_; }

private:
    Plan plan_;
    const std::unique_ptr<Mesh> mesh_ = Mesh::alone();
    const Result<PipelineSchedule> schedule_ = make_schedule(Schedule::OneFOneB, {1, 1, 1});
    std::unique_ptr<DistributedModel> model_;
};

class RecordedModels : public testing::TestWithParam<const char*> {
protected:
    const fs::path folder = recorded / GetParam();
};

TEST_P(RecordedModels, LogitsAreThoseOfTransformers) {
    const auto oracle = tensors_of(folder / "oracle.safetensors");
    Loaded loaded(folder);
    ASSERT_TRUE(loaded);
    const torch::NoGradGuard no_grad;
    EXPECT_LE(difference(loaded.model().chunk(0).forward(oracle.at("tokens")), oracle.at("logits")), 2e-5);
}

TEST_P(RecordedModels, WeightsAreWrittenUnderTransformersNames) {
    Loaded loaded(folder);
    ASSERT_TRUE(loaded);
    const auto whole = loaded.model().weights().whole();
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(shapes_of({whole->begin(), whole->end()}), shapes_of(tensors_of(folder / "model.safetensors")));
}

INSTANTIATE_TEST_SUITE_P(Families, RecordedModels,
                         testing::Values("gpt2", "llama", "llama-tied", "mistral", "qwen2", "mixtral"),
                         [](const auto& each) {
                             return std::string(each.param == std::string("llama-tied") ? "llama_tied" : each.param);
                         });

/// Checkpoints of PyTorch and DeepSpeed, each with what it holds beside it.
TEST(RecordedCheckpoints, AreReadAsWritten) {
    for (const char* name : {"bin-sharded", "dcp-hf", "zero-2-bf16", "zero-3", "universal-3"}) {
        SCOPED_TRACE(name);
        const fs::path folder = fs::path(PLIMSOLL_SOURCE_DIR "/tests/oracles/checkpoints") / name;
        Plan plan;
        const auto model = import_hf_config(folder / "config.json");
        ASSERT_TRUE(model) << model.error().message;
        plan.model = model->model;
        plan.numerics.dtype = Dtype::Fp32;
        const auto read = read_hf_weights(folder, plan);
        ASSERT_TRUE(read) << read.error().message;
        const auto expected = tensors_of(folder / "expected.safetensors");
        EXPECT_EQ(read->size(), expected.size());
        for (const auto& [weight, tensor] : *read)
            EXPECT_TRUE(torch::equal(tensor, expected.at(weight).to(torch::kFloat))) << weight;
    }
}

class RecordedAdapters : public testing::TestWithParam<const char*> {
protected:
    const fs::path folder = recorded / GetParam();
    const TempFolder out;
};

TEST_P(RecordedAdapters, TrainAsUnderPeftAndLeaveInItsFiles) {
    const auto oracle = tensors_of(folder / "adapter/oracle.safetensors");
    const auto done =
        train_adapter(folder, folder / "adapter", folder / "adapter/oracle.safetensors", out.path() / "run");
    ASSERT_TRUE(done) << done.error().message;
    const auto probe = tensors_of(out.path() / "run/probe.safetensors");
    EXPECT_LE(difference(probe.at("before"), oracle.at("before")), 2e-5);
    EXPECT_LE(difference(probe.at("losses"), oracle.at("losses")), 2e-5);
    EXPECT_LE(difference(probe.at("after"), oracle.at("after")), 2e-4);
    EXPECT_GT(difference(probe.at("after"), oracle.at("before")), 0.01) << "the steps change nothing";

    const auto steps = oracle.at("tokens").size(0);
    EXPECT_EQ(shapes_of(tensors_of(out.path() / fmt::format("run/step-{:08}/adapter_model.safetensors", steps))),
              shapes_of(tensors_of(folder / "adapter/adapter_model.safetensors")));
    Loaded merged(out.path() / "run/merged");
    ASSERT_TRUE(merged);
    const torch::NoGradGuard no_grad;
    const Tensor tokens = oracle.at("tokens")[0];
    EXPECT_LE(difference(merged.model().chunk(0).forward(tokens.narrow(1, 0, tokens.size(1) - 1)), probe.at("after")),
              2e-5);
}

INSTANTIATE_TEST_SUITE_P(Families, RecordedAdapters, testing::Values("gpt2", "llama", "qwen2", "mixtral"));

}  // namespace
}  // namespace plimsoll::engine
