// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/starting_plan.h"
#include "tests/support/random_fields.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<LoadedPlan> load(const std::string& text) {
    return parse_json(text, "plan.json").and_then([](const Json& json) { return plan_from_json(json, "plan.json"); });
}

std::string error_of(const std::string& text) {
    const auto loaded = load(text);
    return loaded ? "no error" : loaded.error().message;
}

std::string error_of_field(const std::string& section) { return error_of("{\"plimsoll\": 1, " + section + "}"); }

TEST(PlanDocument, MissingKeysTakeTheirDefaults) {
    const auto loaded = load(R"({"plimsoll": 1})");
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->plan, Plan());
    EXPECT_TRUE(loaded->notes.empty());
}

TEST(PlanDocument, OutOfRangeNamesTheKeyWhatWasFoundAndWhatIsAllowed) {
    EXPECT_EQ(error_of_field(R"("layout": {"zero_stage": 5})"), "plan.json: layout.zero_stage is 5; allowed: 0 to 3");
    EXPECT_EQ(error_of_field(R"("layout": {"micro_batch": 0})"),
              "plan.json: layout.micro_batch is 0; allowed: 1 to 1,000,000,000");
    EXPECT_EQ(error_of_field(R"("optimizer": {"lr": 0})"),
              "plan.json: optimizer.lr is 0; allowed: above 0, up to 1000");
    EXPECT_EQ(error_of_field(R"("lr": {"min_ratio": 1.5})"), "plan.json: lr.min_ratio is 1.5; allowed: 0 to 1");
}

TEST(PlanDocument, AWrongTypeNamesWhatIsNeeded) {
    EXPECT_EQ(error_of_field(R"("layout": {"dp": "two"})"),
              "plan.json: layout.dp is \"two\"; a whole number from 1 to 1,048,576 is needed");
    EXPECT_EQ(error_of_field(R"("layout": {"dp": 2.5})"),
              "plan.json: layout.dp is 2.5; a whole number from 1 to 1,048,576 is needed");
    EXPECT_EQ(error_of_field(R"("layout": {"dp": null})"),
              "plan.json: layout.dp is null; a whole number from 1 to 1,048,576 is needed");
    EXPECT_EQ(error_of_field(R"("layout": {"sequence_parallel": 1})"),
              "plan.json: layout.sequence_parallel is 1; true or false is needed");
    EXPECT_EQ(error_of_field(R"("data": {"path": ["a"]})"),
              "plan.json: data.path is [\"a\"]; text in quotes is needed");
    EXPECT_EQ(error_of_field(R"("optimizer": {"lr": "1e-3"})"),
              "plan.json: optimizer.lr is \"1e-3\"; a number is needed (above 0, up to 1000)");
    EXPECT_EQ(error_of_field(R"("layout": [])"), "plan.json: layout is []; an object { … } is needed");
}

TEST(PlanDocument, AnUnknownChoiceNamesTheNearest) {
    EXPECT_EQ(error_of_field(R"("numerics": {"dtype": "bf61"})"),
              "plan.json: numerics.dtype is \"bf61\"; allowed: fp32, bf16, fp16 (did you mean \"bf16\"?)");
    EXPECT_EQ(error_of_field(R"("layout": {"recompute": true})"),
              "plan.json: layout.recompute is true; allowed: none, selective, full, mlp");
}

TEST(PlanDocument, WholeNumbersMayBeWrittenAsReals) {
    const auto loaded = load(R"({"plimsoll": 1, "layout": {"dp": 4.0, "micro_batch": 5e8}})");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->plan.layout.dp, 4);
    EXPECT_EQ(loaded->plan.layout.micro_batch, 500'000'000);
}

TEST(PlanDocument, NumbersThatDoNotFitAreRefused) {
    EXPECT_THAT(error_of_field(R"("layout": {"dp": 1e400})"), HasSubstr("number overflow"));
    EXPECT_THAT(error_of_field(R"("layout": {"dp": 1e30})"), HasSubstr("layout.dp is 1e+30; a whole number"));
    EXPECT_THAT(error_of_field(R"("training": {"seed": 18446744073709551615})"), HasSubstr("training.seed is"));
    EXPECT_THAT(error_of_field(R"("training": {"seed": 99999999999999999999999})"), HasSubstr("training.seed is"));
    EXPECT_THAT(error_of_field(R"("training": {"seed": -1})"), HasSubstr("training.seed is -1; allowed: 0 to"));
    EXPECT_EQ(load(R"({"plimsoll": 1, "training": {"seed": 9223372036854775807}})")->plan.training.seed,
              std::numeric_limits<std::int64_t>::max());
}

TEST(PlanDocument, TextWithNulOrOfAnyLengthIsRefused) {
    EXPECT_THAT(error_of_field(R"("data": {"path": "a\u0000b"})"), HasSubstr("data.path holds a NUL"));
    EXPECT_THAT(error_of_field("\"name\": \"" + std::string(10'001, 'x') + "\""), HasSubstr("name holds 10,001 bytes"));
}

TEST(PlanDocument, TheVersionTellsAPlanFromOtherJson) {
    EXPECT_THAT(error_of("{}"),
                HasSubstr("the key \"plimsoll\" (the version) is missing; a plan looks like {\"plimsoll\": 1,"));
    EXPECT_THAT(error_of("[]"), HasSubstr("a plan is an object such as"));
    EXPECT_THAT(error_of(R"({"plimsoll": 2})"),
                HasSubstr("written by a newer Plimsoll (plan version 2, this one reads up to 1)"));
    EXPECT_THAT(error_of(R"({"plimsoll": "1"})"),
                HasSubstr("plimsoll is \"1\"; the version of a plan is a whole number"));
    EXPECT_THAT(error_of(R"({"plimsoll": 0})"), HasSubstr("the version of a plan is a whole number"));
    EXPECT_THAT(error_of(R"({"plimsoll": 1e300})"), HasSubstr("the version of a plan is a whole number"));
    EXPECT_THAT(error_of(R"({"model_type": "llama"})"), HasSubstr("plimsoll import hf"));
    EXPECT_THAT(error_of(R"({"plimsoll_model": 1})"), HasSubstr("describes a model, not a plan"));
}

TEST(PlanDocument, UnknownKeysAreReportedKeptAndStayInPlace) {
    const auto loaded = load(
        R"({"comment": "mine", "plimsoll": 1, "layout": {"zerostage": 2, "dp": 2, "notes": {"a": [1]}}, "futur": {"x": 1}})");
    ASSERT_TRUE(loaded);
    EXPECT_THAT(loaded->notes,
                ElementsAre("layout.zerostage is not a key that this version knows; it is kept and not used (did you "
                            "mean \"zero_stage\"?)",
                            "layout.notes is not a key that this version knows; it is kept and not used",
                            "comment is not a key that this version knows; it is kept and not used",
                            "futur is not a key that this version knows; it is kept and not used"));
    const Json saved = to_json(loaded->plan);
    EXPECT_EQ(saved.at("comment"), "mine");
    EXPECT_EQ(saved.at("layout").at("zerostage"), 2);
    EXPECT_EQ(saved.at("layout").at("notes").dump(), R"({"a":[1]})");
    EXPECT_EQ(saved.at("futur").at("x"), 1);
    std::vector<std::string> keys;
    for (const auto& [key, value] : saved.items()) keys.push_back(key);
    keys.resize(4);
    EXPECT_THAT(keys, ElementsAre("comment", "plimsoll", "layout", "futur"));
    EXPECT_EQ(plan_from_json(saved, "again")->notes.size(), 4U);
}

TEST(PlanDocument, KeysThatCameLaterAreWrittenOnlyWhereTheyAreUsed) {
    Plan plan;
    Json json = to_json(plan);
    EXPECT_FALSE(json["numerics"].contains("weights"));
    EXPECT_FALSE(json["numerics"].contains("rounding"));
    EXPECT_FALSE(json["optimizer"].contains("state_dtype"));
    plan.numerics.weights = WeightCopies::Pure;
    plan.numerics.rounding = Rounding::Kahan;
    plan.optimizer.state_dtype = Dtype::Bf16;
    json = to_json(plan);
    EXPECT_EQ(json["numerics"]["weights"], "pure");
    EXPECT_EQ(json["numerics"]["rounding"], "kahan");
    EXPECT_EQ(json["optimizer"]["state_dtype"], "bf16");
    auto back = plan_from_json(json, "plan.json");
    ASSERT_TRUE(back);
    EXPECT_EQ(back->plan, plan);
    back->plan.numerics.weights = WeightCopies::Masters;
    EXPECT_FALSE(to_json(back->plan)["numerics"].contains("weights"));
}

TEST(PlanDocument, SavingASecondTimeChangesNothing) {
    for (const char* text : {R"({"plimsoll": 1})", R"({"x": 1, "plimsoll": 1, "model": {"z": 1, "preset": "gpt2"}})"}) {
        const Json once = to_json(load(text)->plan);
        const Json twice = to_json(plan_from_json(once, "once")->plan);
        EXPECT_EQ(once.dump(), twice.dump());
    }
}

TEST(PlanDocument, CountlessUnknownKeysGiveAFewNotes) {
    std::string text = R"({"plimsoll": 1)";
    for (int i = 0; i < 10'000; ++i) text += fmt::format(", \"layuot{}\": 0", i);
    const auto loaded = load(text + "}");
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->notes.size(), 51U);
    EXPECT_EQ(loaded->notes.back(), "more keys are not known; they are kept and not used");
}

TEST(PlanDocument, AModelPresetFillsTheModelAndFieldsBesideItWin) {
    const auto loaded = load(R"({"plimsoll": 1, "model": {"num_layers": 2, "preset": "gpt2-xl"}})");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->plan.model.hidden_size, 1600);
    EXPECT_EQ(loaded->plan.model.num_heads, 25);
    EXPECT_EQ(loaded->plan.model.num_layers, 2);
    EXPECT_EQ(to_json(loaded->plan).at("model").dump(), R"({"num_layers":2,"preset":"gpt2-xl"})");
}

TEST(PlanDocument, AnUnknownModelPresetNamesTheNearest) {
    EXPECT_THAT(
        error_of(R"({"plimsoll": 1, "model": {"preset": "lama-7b"}})"),
        HasSubstr("plan.json: model.preset: there is no model preset \"lama-7b\" (did you mean \"llama-7b\"?)"));
    EXPECT_EQ(error_of(R"({"plimsoll": 1, "model": {"preset": 7}})"),
              "plan.json: model.preset is 7; text in quotes is needed");
    EXPECT_EQ(error_of(R"({"plimsoll": 1, "model": "llama-7b"})"),
              "plan.json: model is \"llama-7b\"; an object { … } is needed");
}

TEST(PlanDocument, EveryPlanSurvivesSavingAndLoading) {
    const std::vector<std::string>& presets = model_preset_names();
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE(seed);
        Randomizer random(seed);
        Plan plan;
        visit_fields(random, plan);
        const std::size_t preset = random.pick(presets.size() + 1);
        if (preset < presets.size()) {
            // Half of them with changed fields.
            const std::string name = plan.model.name;
            if (random.pick(2) == 0) plan.model = *model_preset(presets[preset]);
            plan.model.preset = presets[preset];
            plan.model.name = name;
        }
        const std::string text = to_json(plan).dump();
        const auto loaded = load(text);
        ASSERT_TRUE(loaded) << loaded.error().message << "\n" << text;
        EXPECT_EQ(loaded->plan, plan) << text;
        EXPECT_TRUE(loaded->notes.empty());
    }
}

TEST(PlanDocument, NoMutilatedDocumentCrashesTheReader) {
    const std::string text = to_json(*plan_preset("llama-2-70b-64xh100")).dump();
    std::mt19937 random(7);
    static constexpr std::string_view bytes = "{}[]\",:0179.eE-+ntfxz\\\x01\xff";
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string broken = text;
        for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
            broken[random() % broken.size()] = bytes[random() % bytes.size()];
        }
        const auto loaded = load(broken);
        if (!loaded) {
            EXPECT_FALSE(loaded.error().message.empty());
            ++refused;
        } else {
            EXPECT_TRUE(plan_from_json(to_json(loaded->plan), "again"));
        }
    }
    EXPECT_GT(refused, 1500);
}

TEST(PlanFile, SavesAndLoads) {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("plimsoll-{}.json", ::getpid());
    const Plan plan = *plan_preset("cpu-demo");
    ASSERT_TRUE(save_plan(path, plan));
    const auto loaded = load_plan(path);
    const auto by_argument = plan_from_argument(path.string());
    std::filesystem::remove(path);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->plan, plan);
    ASSERT_TRUE(by_argument);
    EXPECT_EQ(by_argument->plan, plan);
}

TEST(PlanArgument, AMissingFileNamesTheNearestPreset) {
    EXPECT_THAT(plan_from_argument("cpu-dmo").error().message,
                HasSubstr("there is no file \"cpu-dmo\" and no preset \"cpu-dmo\" (did you mean \"cpu-demo\"?)"));
    EXPECT_THAT(plan_from_argument("nothing/like/that.json").error().message, HasSubstr("there is no file"));
    EXPECT_FALSE(plan_from_argument(""));
    EXPECT_THAT(plan_from_argument("/").error().message, HasSubstr("it is a folder"));
}

TEST(PlanArgument, AModelPresetComesWithAClusterThatHoldsIt) {
    // LLaMA-7B: 16 B x 6.74e9 = 108 GB of states, on four A100 80GB.
    const Plan plan = plan_from_argument("llama-7b")->plan;
    EXPECT_EQ(plan.model.preset, "llama-7b");
    EXPECT_EQ(plan.cluster.gpu, "A100 SXM4 80GB");
    EXPECT_EQ(plan.layout.dp, 4);
    EXPECT_EQ(plan.layout.zero_stage, 2);
    EXPECT_EQ(plan.numerics.dtype, Dtype::Bf16);
    EXPECT_EQ(plan.data.sequence_length, 2048);
    EXPECT_EQ(plan_from_argument("gpt2")->plan.data.sequence_length, 1024);
    EXPECT_EQ(plan_from_argument("llama-3-8b")->plan.data.sequence_length, 4096);
    EXPECT_EQ(plan_from_argument("llama-tiny")->plan.cluster.gpu, "cpu");
}

}  // namespace
}  // namespace plimsoll
