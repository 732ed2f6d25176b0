// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <fstream>

#include "core/base/json.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/plan/parameters.h"
#include "core/run/processes/start_checks.h"
#include "core/run/run_folder.h"
#include "core/telemetry/contract/run_layout.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

using StartChecks = RunTest;

TEST_F(StartChecks, StartIsCheckedBeforeAnythingIsMade) {
    EXPECT_TRUE(check_start(plan, folder / "not/there/yet"));
    plan.training.keep_checkpoints = 1'000'000;
    plan.training.steps = 1'000'000;
    plan.training.checkpoint_every = 1;
    const auto full = check_start(plan, folder / "not/there/yet");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, Error::Kind::BadInput);
    EXPECT_THAT(full.error().message, HasSubstr("the disk is too full"));
}

TEST_F(StartChecks, StartWeightsAreThere) {
    plan.model.weights = (folder / "llama").string();
    EXPECT_THAT(check_start(plan, folder / "run").error().message, HasSubstr("there is no folder"));
    std::filesystem::create_directories(folder / "llama");
    EXPECT_THAT(check_start(plan, folder / "run").error().message, HasSubstr("holds no .safetensors file"));
    std::ofstream(folder / "llama/model.safetensors") << "weights";
    EXPECT_TRUE(check_start(plan, folder / "run"));
}

TEST_F(StartChecks, StartWeightsAreOfThePlansModel) {
    plan.model.weights = (folder / "llama").string();
    std::filesystem::create_directories(folder / "llama");
    std::ofstream(folder / "llama/model.safetensors") << "weights";
    EXPECT_THAT(start_warnings(plan).at(0), HasSubstr("has no config.json"));
    Json config{{"model_type", "llama"},
                {"hidden_size", plan.model.hidden_size},
                {"num_hidden_layers", plan.model.num_layers},
                {"num_attention_heads", plan.model.num_heads},
                {"num_key_value_heads", plan.model.num_kv_heads},
                {"intermediate_size", plan.model.ffn_hidden_size},
                {"vocab_size", plan.model.vocab_size},
                {"max_position_embeddings", plan.model.max_position},
                {"tie_word_embeddings", plan.model.tied_head},
                {"rms_norm_eps", plan.model.norm_eps},
                {"rope_theta", plan.model.rope_theta}};
    const auto refusal = [&] {
        EXPECT_TRUE(write_json(folder / "llama/config.json", config));
        const auto checked = check_start(plan, folder / "run");
        return checked ? "" : checked.error().message;
    };
    EXPECT_EQ(refusal(), "");
    EXPECT_TRUE(start_warnings(plan).empty());
    config["use_wormholes"] = true;
    EXPECT_EQ(refusal(), "");
    EXPECT_THAT(start_warnings(plan).at(0), HasSubstr("use_wormholes"));
    std::ofstream(folder / "llama/tokenizer.json") << "{}";
    EXPECT_THAT(start_warnings(plan).at(0), HasSubstr("has a tokenizer (tokenizer.json)"));
    config["rope_theta"] = 123456.0;
    EXPECT_THAT(refusal(), HasSubstr("--set model.rope_theta=123456.0"));
    config["vocab_size"] = 29;
    EXPECT_THAT(refusal(), HasSubstr("the engine cannot run the model in")) << "tokens are bytes: 256 at least";
    config["vocab_size"] = plan.model.vocab_size;
    config["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
    EXPECT_THAT(refusal(), HasSubstr("rope_scaling is of type linear with factor 4.0"));
}

TEST_F(StartChecks, WhatAnImportedModelLosesInTrainingIsTold) {
    keep_config_keys(plan, {{"model_type", "llama"}, {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}});
    ASSERT_EQ(start_warnings(plan).size(), 1U);
    EXPECT_THAT(start_warnings(plan)[0], HasSubstr("rope_scaling is of type linear"));
}

TEST_F(StartChecks, TheRunsPlanKeepsWhatCameWithTheWeights) {
    plan.model.weights = (folder / "llama").string();
    std::filesystem::create_directories(folder / "llama");
    ASSERT_TRUE(write_json(folder / "llama/config.json", {{"model_type", "llama"}, {"eos_token_id", {7, 8}}}));
    const auto run = RunFolder::create(folder / "run", plan, false);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(exported_config_keys(*run->plan()), (Json{{"eos_token_id", {7, 8}}}));
}

TEST_F(StartChecks, CheckpointsThatAreThereNeedNoRoomAgain) {
    const Bytes one = count_parameters(plan.model).total * 12;  // weights and two moments in fp32
    plan.training.steps = 300;
    plan.training.checkpoint_every = 20;
    plan.training.keep_checkpoints = 3;
    EXPECT_EQ(checkpoint_room(plan, folder / "run"), 4 * one) << "three are kept while the next one is written";
    for (int step : {20, 40, 60}) {
        std::filesystem::create_directories(RunLayout(folder / "run").checkpoint(step));
        EXPECT_EQ(checkpoint_room(plan, folder / "run"), (4 - step / 20) * one);
    }
    plan.training.keep_checkpoints = 1;
    EXPECT_EQ(checkpoint_room(plan, folder / "run"), one) << "the next one, before an old one goes";
}

TEST_F(StartChecks, MoreThreadsThanCoresIsAWarningNotAnError) {
    plan.training.threads = 1000;
    ASSERT_EQ(start_warnings(plan).size(), 1U);
    EXPECT_THAT(start_warnings(plan)[0], HasSubstr("share"));
}

TEST_F(StartChecks, ATextShorterThanABatchIsToldWithTheNumbers) {
    plan.training.threads = 1;
    plan.cluster.gpu = "H100 SXM5 80GB";  // no word on this machine's cores
    plan.data.sequence_length = 100;
    plan.data.validation_fraction = 0.1;
    plan.training.validate_every = 10;
    plan.layout.micro_batch = 4;
    plan.layout.accumulation = 2;
    plan.layout.dp = 2;
    EXPECT_TRUE(start_warnings(plan).empty());
    // 16 sequences a batch; 801 bytes are 8 windows of 100 and their targets, and their tenth is no sequence.
    put_contents(folder / "corpus.txt", std::string(801, 'x'));
    const auto warnings = start_warnings(plan);
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_THAT(warnings[0], HasSubstr("it holds 8 sequences of 100 bytes and a global batch takes 16, so each is in "
                                       "every batch 2 times"));
    EXPECT_THAT(warnings[1],
                HasSubstr("nothing is kept for validation: 10 % (data.validation_fraction) of the text's 801 "
                          "bytes"));
    plan.training.validate_every = 0;
    EXPECT_EQ(start_warnings(plan).size(), 1U);
}

}  // namespace
}  // namespace plimsoll
