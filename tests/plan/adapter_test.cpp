// SPDX-License-Identifier: Apache-2.0
#include "core/plan/adapter.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/plan/checks/check_plan.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/plan/hugging_face/peft_keys.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/plan/trainable.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Plan plan_with(const std::string& preset, const std::vector<std::string>& settings) {
    std::vector<std::string> all{"model.preset=" + preset, "adapter.rank=8"};
    all.insert(all.end(), settings.begin(), settings.end());
    auto plan = with_settings(Plan(), all);
    EXPECT_TRUE(plan) << plan.error().message;
    return *plan;
}

std::string problem_of(const Plan& plan) {
    const auto problems = check_plan(plan);
    return problems.empty() ? "" : problems.front().sentence;
}

TEST(Adapter, CountsRankTimesBothSidesOfEachMatrix) {
    // LLaMA-7B: 4096 wide, MLP 11008, 32 layers. PEFT says 19,988,480 for rank 8 on all linear layers.
    EXPECT_EQ(adapter_parameters(plan_with("llama-7b", {})), 32 * 8 * (4 * (4096 + 4096) + 3 * (4096 + 11008)));
    EXPECT_EQ(adapter_parameters(plan_with("llama-7b", {})), 19'988'480);
    // q_proj and v_proj alone, PEFT's default: 4,194,304.
    EXPECT_EQ(adapter_parameters(plan_with("llama-7b", {"adapter.targets=q_proj,v_proj"})), 4'194'304);
    EXPECT_EQ(adapter_parameters(plan_with("llama-7b", {"adapter.targets=attention"})), 8'388'608);
    const Plan none = plan_with("llama-7b", {"adapter.rank=0"});
    EXPECT_EQ(adapter_parameters(none), 0);
    EXPECT_EQ(trained_parameters(none), count_parameters(none.model).total);
}

TEST(Adapter, NamesMatricesAsPeftDoes) {
    EXPECT_THAT(target_modules(plan_with("llama-7b", {})),
                ElementsAre("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"));
    EXPECT_THAT(target_modules(plan_with("mixtral-8x7b", {})), ElementsAre("q_proj", "k_proj", "v_proj", "o_proj"));
    EXPECT_THAT(target_modules(plan_with("gpt2", {})), ElementsAre("c_attn", "c_proj", "c_fc"));
    EXPECT_THAT(target_modules(plan_with("gpt2", {"adapter.targets=attention"})), ElementsAre("c_attn", "attn.c_proj"));
    EXPECT_THAT(target_modules(plan_with("gpt2", {"adapter.targets=mlp.c_proj, c_attn"})),
                ElementsAre("c_attn", "mlp.c_proj"));
}

TEST(Adapter, ScalesByAlphaOverTheRankOrItsRoot) {
    EXPECT_DOUBLE_EQ(adapter_scale(plan_with("gpt2", {"adapter.alpha=16"}).adapter), 2);
    EXPECT_DOUBLE_EQ(
        adapter_scale(
            plan_with("gpt2", {"adapter.rank=16", "adapter.alpha=16", "adapter.rank_stabilized=true"}).adapter),
        4);
}

TEST(Adapter, IsCheckedAgainstTheModel) {
    EXPECT_EQ(problem_of(plan_with("llama-7b", {})), "");
    EXPECT_THAT(problem_of(plan_with("llama-7b", {"adapter.targets=q_proj,query"})), HasSubstr("\"query\""));
    EXPECT_THAT(problem_of(plan_with("llama-7b", {"adapter.targets=proj"})), HasSubstr("\"proj\""))
        << "an end of a name is no name";
    EXPECT_THAT(problem_of(plan_with("llama-7b", {"adapter.targets=,"})), HasSubstr("empty"));
    EXPECT_THAT(problem_of(plan_with("llama-7b", {"adapter.rank=5000"})), HasSubstr("take 4096 at most"));
    EXPECT_THAT(problem_of(plan_with("llama-7b", {"adapter.rank=0", "adapter.weights=/x"})), HasSubstr("adapter's r"));
    EXPECT_THAT(problem_of(plan_with("t5-11b", {})), HasSubstr("T5"));
    EXPECT_THAT(problem_of(plan_with("llama-7b", {"layout.recompute=mlp"})), HasSubstr("no adapters"));
    Plan negative = plan_with("llama-7b", {});
    negative.adapter.rank = -1;
    EXPECT_THAT(problem_of(negative), HasSubstr("adapter.rank is -1"));
    const auto sharded = require_trainable(plan_with("llama-7b", {"layout.zero_stage=3", "data.sequence_length=128"}));
    ASSERT_FALSE(sharded);
    EXPECT_THAT(sharded.error().message, HasSubstr("zero_stage 0 to 2"));
}

TEST(PeftConfig, ComesBackAsItWent) {
    for (const std::string preset : {"llama-7b", "gpt2", "mixtral-8x7b"}) {
        const Plan plan = plan_with(preset, {"adapter.alpha=12.5", "adapter.rank_stabilized=true",
                                             "adapter.targets=attention", "model.weights=/models/base"});
        const Json config = peft_config(plan);
        EXPECT_EQ(config["fan_in_fan_out"], preset == "gpt2");
        const auto read = adapter_from_peft(config, "it");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->base, "/models/base");
        Plan back = plan;
        back.adapter = read->adapter;
        EXPECT_EQ(back.adapter.rank, plan.adapter.rank);
        EXPECT_EQ(back.adapter.alpha, plan.adapter.alpha);
        EXPECT_TRUE(back.adapter.rank_stabilized);
        EXPECT_EQ(target_modules(back), target_modules(plan));
    }
    EXPECT_TRUE(peft_config(plan_with("gpt2", {"adapter.alpha=16"}))["lora_alpha"].is_number_integer());
}

TEST(PeftConfig, ReadsNamesInFull) {
    Json config = peft_config(plan_with("llama-7b", {}));
    config["target_modules"] = {"model.layers.1.mlp.up_proj", "model.layers.0.self_attn.q_proj",
                                "model.layers.0.mlp.up_proj", "model.layers.1.self_attn.q_proj", "v_proj"};
    const auto read = adapter_from_peft(config, "it");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->adapter.targets, "mlp.up_proj,self_attn.q_proj,v_proj");
    config["target_modules"] = {"transformer.h.10.attn.c_attn"};
    EXPECT_EQ(adapter_from_peft(config, "it")->adapter.targets, "attn.c_attn");
    config["target_modules"] = {"model.layers.1.mlp.up_proj", "model.layers.0.self_attn.q_proj"};
    const auto some = adapter_from_peft(config, "it");
    ASSERT_FALSE(some);
    EXPECT_THAT(some.error().message, HasSubstr("the same in all layers"));
}

TEST(PeftConfig, EachKeyHasOnePlaceAndHarmlessOnesChangeNothing) {
    const Json good = peft_config(plan_with("llama-7b", {}));
    const PeftAdapter usual = *adapter_from_peft(good, "it");
    std::set<std::string_view> names;
    for (const FileKey& row : peft_keys()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_FALSE(row.reason.empty()) << row.name;
        if (row.use != KeyUse::Harmless && row.use != KeyUse::Kept) continue;
        Json config = good;
        config[std::string(row.name)] = row.name == "init_lora_weights" ? Json("gaussian") : Json("other");
        const auto read = adapter_from_peft(config, "it");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->adapter, usual.adapter) << row.name;
        EXPECT_EQ(read->base, usual.base) << row.name;
    }
    for (const auto& [key, value] : good.items())
        EXPECT_TRUE(names.contains(key)) << key << " is written and not known";
}

TEST(PeftConfig, SettingsOfThePeftTrainingAreTold) {
    Json config = peft_config(plan_with("llama-7b", {}));
    config["lora_dropout"] = 0.05;
    config["task_type"] = "SEQ_CLS";
    const auto read = adapter_from_peft(config, "it");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->findings.size(), 2U);
    EXPECT_THAT(read->findings[0].sentence, HasSubstr("lora_dropout is 0.05"));
    EXPECT_THAT(read->findings[1].sentence, HasSubstr("task_type is \"SEQ_CLS\""));
}

TEST(PeftConfig, RefusesWhatAPlanHasNot) {
    const Json good = peft_config(plan_with("llama-7b", {}));
    const std::vector<std::pair<std::string, Json>> changes{
        {"peft_type", "IA3"},
        {"use_dora", true},
        {"bias", "all"},
        {"modules_to_save", {"lm_head"}},
        {"rank_pattern", {{"q_proj", 4}}},
        {"alpha_pattern", {{"q_proj", 4}}},
        {"layers_to_transform", {1, 2}},
        {"exclude_modules", {"k_proj"}},
        {"target_modules", ".*q_proj"},
        {"target_modules", Json::array()},
        {"target_modules", {"q_proj,v_proj"}},
        {"target_modules", {7}},
        {"init_lora_weights", "pissa"},
        {"r", 0},
        {"r", 2.5},
        {"r", "8"},
        {"lora_alpha", 0},
        {"lora_alpha", nullptr},
    };
    for (const auto& [key, value] : changes) {
        Json bad = good;
        bad[key] = value;
        const auto read = adapter_from_peft(bad, "adapter_config.json");
        ASSERT_FALSE(read) << key << " " << value.dump();
        EXPECT_THAT(read.error().message, HasSubstr(key)) << value.dump();
        EXPECT_EQ(read.error().kind, Error::Kind::BadInput);
    }
    for (const FileKey& row : peft_keys()) {
        if (row.use != KeyUse::Judged) continue;
        Json bad = good;
        bad[std::string(row.name)] = Json{{"a", 1}};
        const auto read = adapter_from_peft(bad, "it");
        ASSERT_FALSE(read) << row.name;
        EXPECT_THAT(read.error().message, ::testing::AllOf(HasSubstr(row.name), HasSubstr(row.reason)));
        bad[std::string(row.name)] = row.neutral.empty() ? Json() : Json::parse(row.neutral);
        EXPECT_TRUE(adapter_from_peft(bad, "it")) << row.name;
    }
    Json unknown = good;
    unknown["use_wormholes"] = false;
    EXPECT_TRUE(adapter_from_peft(unknown, "it")) << "asks for nothing";
    unknown["use_wormholes"] = true;
    EXPECT_THAT(adapter_from_peft(unknown, "it").error().message,
                HasSubstr("use_wormholes is true, a key that is not known"));
    EXPECT_FALSE(adapter_from_peft(Json::array(), "it"));
    EXPECT_FALSE(adapter_from_peft(Json::object(), "it"));
}

}  // namespace
}  // namespace plimsoll
