// SPDX-License-Identifier: Apache-2.0
#include "core/architecture/architecture.h"

#include <gmock/gmock.h>

#include "core/base/file.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path resources = fs::path(PLIMSOLL_SOURCE_DIR) / "resources/families";

const FamilyFiles& families() {
    static const FamilyFiles loaded = [] {
        auto files = load_families(resources);
        EXPECT_TRUE(files) << files.error().message;
        return files ? *files : FamilyFiles();
    }();
    return loaded;
}

Json llama(const std::vector<std::pair<std::string, Json>>& more = {}) {
    Json config = {
        {"model_type", "llama"},       {"hidden_size", 64}, {"num_hidden_layers", 2},  {"num_attention_heads", 4},
        {"num_key_value_heads", 2},    {"vocab_size", 100}, {"intermediate_size", 96}, {"max_position_embeddings", 32},
        {"tie_word_embeddings", false}};
    for (const auto& [key, value] : more) {
        if (value.is_discarded()) {
            config.erase(key);
        } else {
            config[key] = value;
        }
    }
    return config;
}

std::string refusal(const Json& config, const std::string& as = "") {
    const auto made = describe(config, families(), as);
    return made ? "accepted" : made.error().message;
}

Architecture described(const Json& config, const FamilyFiles& files = families(), const std::string& as = "") {
    auto made = describe(config, files, as);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : Architecture();
}

TEST(ArchitectureTest, CountsALlamaByHand) {
    const Architecture a = described(llama());
    // Embedding and head, two layers of q, k, v, o, three matrices and two norms, the last norm.
    const std::int64_t layer = 64 * 64 + 2 * 32 * 64 + 64 * 64 + 3 * 96 * 64 + 2 * 64;
    EXPECT_EQ(a.parameters, 2 * 100 * 64 + 2 * layer + 64);
    EXPECT_EQ(a.active_parameters, a.parameters);
    EXPECT_EQ(a.tensors.size(), 2U + 2 * 9 + 1);
    ASSERT_EQ(a.kinds.size(), 1U);
    EXPECT_EQ(a.kinds[0].count, 2);
    EXPECT_EQ(a.kinds[0].attention, "grouped-query");
    EXPECT_EQ(a.head_dim, 16);
    EXPECT_EQ(a.tied, false);
    EXPECT_EQ(described(llama({{"tie_word_embeddings", true}})).parameters, a.parameters - 100 * 64);
    EXPECT_EQ(described(llama({{"attention_bias", true}})).parameters, a.parameters + 2 * (64 + 32 + 32 + 64));
}

TEST(ArchitectureTest, LayersThatDifferAreToldApart) {
    Json config = llama({{"model_type", "qwen3_moe"},
                         {"num_hidden_layers", 4},
                         {"mlp_only_layers", {0}},
                         {"num_experts", 8},
                         {"num_experts_per_tok", 2},
                         {"moe_intermediate_size", 16},
                         {"head_dim", 16}});
    const Architecture a = described(config);
    ASSERT_EQ(a.kinds.size(), 2U);
    EXPECT_EQ(a.kinds[0].mlp, "gated");
    EXPECT_EQ(a.kinds[0].count, 1);
    EXPECT_EQ(a.kinds[1].mlp, "routed");
    EXPECT_EQ(a.kinds[1].count, 3);
    EXPECT_EQ(a.parameters - a.active_parameters, 3 * 6 * 3 * 16 * 64) << "six of eight experts rest";
}

TEST(ArchitectureTest, TheTextPartOfAConfigOfSeveralPartsIsDescribed) {
    const Architecture a = described({{"model_type", "sees_and_reads"}, {"text_config", llama()}});
    EXPECT_EQ(a.parameters, described(llama()).parameters);
    ASSERT_EQ(a.notes.size(), 1U);
    EXPECT_THAT(a.notes[0], HasSubstr("text part alone"));
}

TEST(ArchitectureTest, WhatAReaderHasToKnowBesideIsNoted) {
    EXPECT_THAT(described(llama({{"auto_map", Json::object()}})).notes.at(0), HasSubstr("it is not run"));
    EXPECT_THAT(described(llama({{"quantization_config", {{"bits", 4}}}})).notes.at(0), HasSubstr("quantized"));
    EXPECT_EQ(described(llama({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}}})).rope_scaling,
              "llama3 x8");
    EXPECT_EQ(described(llama({{"rope_scaling", {{"rope_type", "default"}}}})).rope_scaling, "");
}

TEST(ArchitectureRefusals, AreOneSentenceWithTheCause) {
    const Json absent(nlohmann::detail::value_t::discarded);
    EXPECT_THAT(refusal(Json::array()), HasSubstr("holds no object"));
    EXPECT_THAT(refusal(Json::object()), HasSubstr("neither model_type nor architectures"));
    EXPECT_THAT(refusal({{"model_type", "llamma"}}),
                AllOf(HasSubstr("no family describes model_type \"llamma\""), HasSubstr("\"llama\"")));
    EXPECT_THAT(refusal({{"architectures", {"OwnForCausalLM"}}, {"auto_map", Json::object()}}),
                AllOf(HasSubstr("the class \"OwnForCausalLM\""), HasSubstr("auto_map")));
    EXPECT_THAT(refusal(llama(), "lama"), HasSubstr("there is no family \"lama\" (did you mean \"llama\"?)"));
    EXPECT_EQ(refusal(llama({{"num_hidden_layers", absent}})),
              "num_hidden_layers is missing; a config.json of Llama has it");
    EXPECT_THAT(refusal(llama({{"num_hidden_layers", 0}})), HasSubstr("num_hidden_layers is 0; a whole number from 1"));
    EXPECT_THAT(refusal(llama({{"vocab_size", true}})), HasSubstr("vocab_size is true; a whole number from 1"));
    EXPECT_THAT(refusal(llama({{"hidden_size", "64"}})), HasSubstr("a whole number is needed"));
    EXPECT_THAT(refusal(llama({{"num_attention_heads", 5}})), HasSubstr("5 heads do not divide a width of 64"));
    EXPECT_EQ(refusal(llama({{"num_attention_heads", 6}, {"head_dim", 16}})), "accepted");
    EXPECT_THAT(refusal(llama({{"num_key_value_heads", 3}})), HasSubstr("3 key-value heads do not divide 4 heads"));
    EXPECT_THAT(refusal(llama({{"num_key_value_heads", 0}})), HasSubstr("0 key-value heads do not divide 4 heads"));
    EXPECT_THAT(refusal(llama({{"num_hidden_layers", 1'000'000'000'000}})), HasSubstr("its config.json is damaged"));
    EXPECT_THAT(refusal(llama({{"vocab_size", std::int64_t{1} << 60}})), HasSubstr("larger than any model"));
    EXPECT_THAT(refusal(llama({{"model_type", "gemma3_text"}, {"layer_types", {"full_attention"}}})),
                HasSubstr("layer_types has 1 entries, and one for place 1 is needed"));
    EXPECT_THAT(refusal(llama({{"model_type", "mixtral"}, {"num_local_experts", 4}, {"num_experts_per_tok", 8}})),
                HasSubstr("a token goes through 8 of 4 experts"));
}

TEST(FamilyFileTest, AFamilyIsOneFile) {
    // The example of docs/families.md, beside the files that there are.
    const auto page = read_file(fs::path(PLIMSOLL_SOURCE_DIR) / "docs/families.md");
    ASSERT_TRUE(page);
    const auto begin = page->find("```json\n") + 8;
    const std::string example = page->substr(begin, page->find("```", begin) - begin);
    const TempFolder folder;
    fs::copy(resources, folder / "families", fs::copy_options::recursive);
    put_contents(folder / "families" / "harbour.json", example);
    const auto files = load_families(folder / "families");
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(files->all.size(), families().all.size() + 1);
    const Architecture a = described(llama({{"model_type", "harbour"}, {"num_experts", 4}}), *files);
    EXPECT_EQ(a.title, "Harbour");
    const std::int64_t attention = 2 * 64 * 64 + 2 * 32 * 64, expert = 3 * 96 * 64;
    EXPECT_EQ(a.parameters, 2 * 100 * 64 + 64 + 2 * (attention + 2 * 64) + expert + (4 * 64 + 4 * expert));
    EXPECT_EQ(a.active_parameters, a.parameters - 3 * expert);
    ASSERT_EQ(a.kinds.size(), 2U);
}

TEST(FamilyFileTest, FaultsNameTheFileAndThePlace) {
    const TempFolder folder;
    const auto fault = [&](const std::string& text) {
        put_contents(folder / "own.json", text);
        const auto files = load_families(folder.path());
        return files ? std::string("accepted") : files.error().message;
    };
    const std::string head = R"({"title": "Own", "model_type": ["own"], "classes": [], "needs": [], )";
    EXPECT_THAT(fault("{"), HasSubstr("own.json"));
    EXPECT_THAT(fault("{}"), AllOf(HasSubstr("own.json"), HasSubstr("it has no title")));
    EXPECT_THAT(fault(head + R"("let": {"a": "1 +"}, "tensors": []})"),
                HasSubstr("a: the expression \"1 +\" is not understood"));
    EXPECT_THAT(fault(head + R"("tensors": ["name"]})"), HasSubstr("the tensor \"name\" has no shape"));
    EXPECT_THAT(fault(head + R"("tensors": [{"unless": "1"}]})"), HasSubstr("has the key unless"));
    EXPECT_THAT(fault(head + R"("tensors": [{"for": "i", "items": []}]})"), HasSubstr("for and count go together"));
    EXPECT_THAT(fault(head + R"("tensors": ["a{b : 1"]})"), HasSubstr("not closed"));
    EXPECT_EQ(fault(head + R"("tensors": [{"use": "absent"}]})"), "accepted");
    const auto files = load_families(folder.path());
    ASSERT_TRUE(files);
    const auto made = describe({{"model_type", "own"}}, *files);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("uses the block absent"));
    EXPECT_THAT(load_families(folder / "none").error().message, HasSubstr("there are no families in"));
}

}  // namespace
}  // namespace plimsoll
