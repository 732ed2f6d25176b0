// SPDX-License-Identifier: Apache-2.0
// GGUF files become models; damaged ones are refused with a sentence, wherever the damage is.
#include "core/interop/model_files/gguf.h"

#include <gmock/gmock.h>

#include <limits>
#include <random>
#include <set>

#include "core/interop/model_files/gguf_keys.h"
#include "core/interop/model_files/gguf_model.h"
#include "core/plan/parameters.h"
#include "tests/support/some_gguf.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GgufTest : public ::testing::Test {
protected:
    Result<GgufFile> read(const std::string& bytes) {
        put_contents(path, bytes);
        return read_gguf(path);
    }
    Result<GgufModel> model(const SomeGguf& file) {
        PLIMSOLL_TRY(const auto head, read(file.bytes()));
        return model_from_gguf(head, "tiny.gguf");
    }
    void expect_refused(const std::string& bytes, const std::string& words) {
        const auto file = read(bytes);
        ASSERT_FALSE(file) << words;
        EXPECT_THAT(file.error().message, HasSubstr(words));
        EXPECT_EQ(file.error().kind, Error::Kind::BadInput);
    }
    void expect_no_model(const SomeGguf& file, const std::string& words) {
        const auto made = model(file);
        ASSERT_FALSE(made) << words;
        EXPECT_THAT(made.error().message, HasSubstr(words));
        EXPECT_EQ(std::count(made.error().message.begin(), made.error().message.end(), '\n'), 0);
    }

    TempFolder folder;
    std::filesystem::path path = folder / "tiny.gguf";
};

TEST_F(GgufTest, EveryKindOfValueIsRead) {
    SomeGguf file;
    file.version = 2;
    file.key("a.u8", 0).head.put(std::uint8_t{200});
    file.key("a.i8", 1).head.put(std::int8_t{-100});
    file.key("a.u16", 2).head.put(std::uint16_t{60000});
    file.key("a.i16", 3).head.put(std::int16_t{-30000});
    file.key("a.u32", 4).head.put(std::uint32_t{4000000000});
    file.key("a.i32", 5).head.put(std::int32_t{-2000000000});
    file.key("a.f32", 6).head.put(1e-5F);
    file.key("a.flag", 7).head.put(std::uint8_t{1});
    file.text("a.text", "Füße");
    file.key("a.u64", 10).head.put(std::numeric_limits<std::uint64_t>::max());
    file.key("a.i64", 11).head.put(std::numeric_limits<std::int64_t>::min());
    file.key("a.f64", 12).head.put(0.1);
    file.texts("a.texts", {"one", "", "three"});
    file.key("a.numbers", 9).head.put(std::uint32_t{3}).put(std::uint64_t{2}).put(std::int16_t{1}).put(std::int16_t{2});
    // [[7], []]
    file.key("a.nested", 9).head.put(std::uint32_t{9}).put(std::uint64_t{2});
    file.head.put(std::uint32_t{0}).put(std::uint64_t{1}).put(std::uint8_t{7});
    file.head.put(std::uint32_t{8}).put(std::uint64_t{0});
    file.tensor("t", {3, 5});
    const auto head = read(file.bytes());
    ASSERT_TRUE(head) << head.error().message;
    EXPECT_EQ(head->version, 2);
    const auto& values = head->values;
    EXPECT_EQ(values.at("a.u8"), 200);
    EXPECT_EQ(values.at("a.i8"), -100);
    EXPECT_EQ(values.at("a.u16"), 60000);
    EXPECT_EQ(values.at("a.i16"), -30000);
    EXPECT_EQ(values.at("a.u32"), 4000000000);
    EXPECT_EQ(values.at("a.i32"), -2000000000);
    EXPECT_EQ(values.at("a.f32"), 1e-5);
    EXPECT_EQ(values.at("a.flag"), true);
    EXPECT_EQ(values.at("a.text"), "Füße");
    EXPECT_EQ(values.at("a.u64"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(values.at("a.i64"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(values.at("a.f64"), 0.1);
    EXPECT_EQ(head->array_lengths,
              (std::map<std::string, std::uint64_t>{{"a.nested", 2}, {"a.numbers", 2}, {"a.texts", 3}}));
    ASSERT_EQ(head->tensors.size(), 1U);
    EXPECT_EQ(head->find("t")->elements, 15);
    EXPECT_THAT(head->find("t")->shape, ElementsAre(3, 5));
    EXPECT_EQ(head->find("u"), nullptr);
}

TEST_F(GgufTest, LlamaHasTheParametersOfItsTensors) {
    const auto made = model(some_llama());
    ASSERT_TRUE(made) << made.error().message;
    const Model& m = made->model;
    EXPECT_EQ(m.family, Family::Llama);
    EXPECT_EQ(m.name, "Tiny LLaMA");
    EXPECT_EQ(m.num_layers, 2);
    EXPECT_EQ(m.hidden_size, 64);
    EXPECT_EQ(m.ffn_hidden_size, 160);
    EXPECT_EQ(m.num_heads, 4);
    EXPECT_EQ(m.num_kv_heads, 2);
    EXPECT_EQ(m.max_position, 256);
    EXPECT_EQ(m.vocab_size, 96);
    EXPECT_EQ(m.rope_theta, 500000);
    EXPECT_EQ(m.norm_eps, 1e-5);
    EXPECT_FALSE(m.tied_head);
    // By hand: embedding and head, final norm, and a layer's two norms, q and o, k and v, three of the MLP.
    EXPECT_EQ(made->parameters, 2 * 64 * 96 + 64 + 2 * (2 * 64 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 160));
    EXPECT_EQ(count_parameters(m).total, made->parameters);
    ASSERT_EQ(made->notes.size(), 2U);
    EXPECT_THAT(made->notes[0], HasSubstr("as many as the plan's model"));
    EXPECT_THAT(made->notes[1], HasSubstr("rope_freqs.weight holds factors"));
}

TEST_F(GgufTest, ExpertsMakeItMixtral) {
    const auto made = model(some_llama(4));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->model.family, Family::Mixtral);
    EXPECT_EQ(made->model.num_experts, 4);
    EXPECT_EQ(made->model.experts_per_token, 2);
    EXPECT_EQ(count_parameters(made->model).total, made->parameters);
}

TEST_F(GgufTest, Qwen2HasBiasesAndATiedHead) {
    SomeGguf file;
    file.text("general.architecture", "qwen2")
        .number("qwen2.block_count", 1)
        .number("qwen2.embedding_length", 64)
        .number("qwen2.feed_forward_length", 128)
        .number("qwen2.attention.head_count", 4)
        .number("qwen2.attention.head_count_kv", 1)
        .number("qwen2.context_length", 512)
        .tensor("token_embd.weight", {64, 100})
        .tensor("output_norm.weight", {64})
        .tensor("blk.0.attn_norm.weight", {64})
        .tensor("blk.0.ffn_norm.weight", {64})
        .tensor("blk.0.attn_q.weight", {64, 64})
        .tensor("blk.0.attn_q.bias", {64})
        .tensor("blk.0.attn_k.weight", {64, 16})
        .tensor("blk.0.attn_k.bias", {16})
        .tensor("blk.0.attn_v.weight", {64, 16})
        .tensor("blk.0.attn_v.bias", {16})
        .tensor("blk.0.attn_output.weight", {64, 64})
        .tensor("blk.0.ffn_gate.weight", {64, 128})
        .tensor("blk.0.ffn_up.weight", {64, 128})
        .tensor("blk.0.ffn_down.weight", {128, 64});
    const auto made = model(file);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->model.family, Family::Qwen2);
    EXPECT_TRUE(made->model.tied_head);
    EXPECT_TRUE(made->model.qkv_bias);
    EXPECT_EQ(count_parameters(made->model).total, made->parameters);
}

TEST_F(GgufTest, Gpt2IsTiedEvenWithACopyOfItsEmbedding) {
    SomeGguf file;
    file.text("general.architecture", "gpt2")
        .number("gpt2.block_count", 1)
        .number("gpt2.embedding_length", 64)
        .number("gpt2.feed_forward_length", 256)
        .number("gpt2.attention.head_count", 4)
        .number("gpt2.context_length", 128)
        .real("gpt2.attention.layer_norm_epsilon", 1e-5F)
        .tensor("token_embd.weight", {64, 100})
        .tensor("position_embd.weight", {64, 128})
        .tensor("output.weight", {64, 100});
    for (const std::string norm : {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"})
        file.tensor(norm + ".weight", {64}).tensor(norm + ".bias", {64});
    file.tensor("blk.0.attn_qkv.weight", {64, 192})
        .tensor("blk.0.attn_qkv.bias", {192})
        .tensor("blk.0.attn_output.weight", {64, 64})
        .tensor("blk.0.attn_output.bias", {64})
        .tensor("blk.0.ffn_up.weight", {64, 256})
        .tensor("blk.0.ffn_up.bias", {256})
        .tensor("blk.0.ffn_down.weight", {256, 64})
        .tensor("blk.0.ffn_down.bias", {64});
    const auto made = model(file);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->model.family, Family::Gpt2);
    EXPECT_EQ(count_parameters(made->model).total, made->parameters);
}

TEST_F(GgufTest, WhatDiffersIsSaid) {
    auto more = model(some_llama().tensor("blk.0.extra.weight", {10}));
    ASSERT_TRUE(more);
    EXPECT_THAT(more->notes[0], HasSubstr("10 fewer"));

    SomeGguf tokens_only = some_llama();
    tokens_only.tensors = 0;
    tokens_only.places = GgufBytes();
    auto without = model(tokens_only);
    ASSERT_TRUE(without);
    EXPECT_EQ(without->model.vocab_size, 96);
    EXPECT_THAT(without->notes[0], HasSubstr("no tensors"));

    auto part = model(some_llama().number("split.count", 3));
    ASSERT_TRUE(part);
    EXPECT_THAT(part->notes[0], HasSubstr("one of 3 parts"));
}

/// "llama.x" of "arch.x", and a name of those that begin like "general.*".
std::string name_in_file(std::string_view row) {
    std::string name(row.starts_with("arch.") ? row.substr(5) : row);
    if (name.ends_with('*')) name.replace(name.size() - 1, 1, "wormholes");
    return row.starts_with("arch.") ? "llama." + name : name;
}

TEST_F(GgufTest, EveryKeyHasItsPlace) {
    const auto usual = model(some_llama());
    ASSERT_TRUE(usual) << usual.error().message;
    std::set<std::string_view> names;
    for (const FileKey& row : gguf_keys()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_FALSE(row.reason.empty()) << row.name;
        if (row.use == KeyUse::Understood) continue;
        const std::string key = name_in_file(row.name);
        const auto made = model(some_llama().number(key, 3));
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->model, usual->model) << key;
        ASSERT_EQ(made->notes.size(), usual->notes.size() + (row.use == KeyUse::Judged ? 1 : 0)) << key;
        if (row.use == KeyUse::Judged) {
            EXPECT_THAT(made->notes[1], HasSubstr(key + " is 3"));
        }
    }
    const auto unknown = model(some_llama().number("llama.wormholes", 1).texts("other.list", {"a", "b"}));
    ASSERT_TRUE(unknown) << unknown.error().message;
    ASSERT_EQ(unknown->notes.size(), usual->notes.size() + 2);
    EXPECT_THAT(unknown->notes[1], HasSubstr("llama.wormholes is 1, a key that is not known"));
    EXPECT_THAT(unknown->notes[2], HasSubstr("other.list is an array of 2, a key that is not known"));
}

TEST_F(GgufTest, WhatIsComputedInAnyCaseIsNoNews) {
    SomeGguf file = some_llama();
    file.number("llama.rope.dimension_count", 16)  // 64 / 4 heads
        .text("llama.rope.scaling.type", "none")
        .real("llama.rope.scaling.factor", 8)
        .number("llama.attention.sliding_window", 256)  // all positions
        .text("general.type", "model");
    const auto made = model(file);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->notes, model(some_llama())->notes);
}

TEST_F(GgufTest, ScaledRotaryPositionsAreToldAndGoIntoTheConfig) {
    SomeGguf file = some_llama();
    file.text("llama.rope.scaling.type", "yarn").real("llama.rope.scaling.factor", 8);
    const auto made = model(file);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made->notes.size(), 4U);
    EXPECT_THAT(made->notes[1], HasSubstr("llama.rope.scaling.factor is 8.0"));
    EXPECT_THAT(made->notes[2], HasSubstr("llama.rope.scaling.type is \"yarn\""));
    EXPECT_THAT(made->notes[3], HasSubstr("rope_freqs.weight holds factors"));
    EXPECT_EQ(made->config["rope_scaling"], (Json{{"rope_type", "yarn"}, {"factor", 8.0}}));
}

TEST_F(GgufTest, WrongMetadataIsNamed) {
    expect_no_model(SomeGguf(), "general.architecture is missing");
    expect_no_model(SomeGguf().text("general.architecture", "lama"), "did you mean \"llama\"");
    const auto later = model(SomeGguf().text("general.architecture", "qwen3"));
    ASSERT_FALSE(later);
    EXPECT_THAT(later.error().message, ::testing::Not(HasSubstr("did you mean"))) << "another family";
    expect_no_model(SomeGguf().text("general.architecture", "llama"), "llama.embedding_length is missing");
    SomeGguf odd;
    odd.text("general.architecture", "llama").text("llama.embedding_length", "64");
    expect_no_model(odd, "llama.embedding_length is \"64\"");
    SomeGguf by_layer;
    by_layer.text("general.architecture", "llama").number("llama.embedding_length", 64);
    by_layer.key("llama.attention.head_count", 9)
        .head.put(std::uint32_t{4})
        .put(std::uint64_t{1})
        .put(std::uint32_t{4});
    expect_no_model(by_layer, "a value for each layer");
    SomeGguf narrow = some_llama();
    const std::string bytes = narrow.bytes();
    std::string wrong = bytes;
    const auto key = wrong.find("llama.embedding_length");
    wrong[key + std::string("llama.embedding_length").size() + 4] = 32;
    const auto head = read(wrong);
    ASSERT_TRUE(head);
    EXPECT_THAT(model_from_gguf(*head, "x").error().message, HasSubstr("token_embd.weight has shape 64 x 96"));
}

/// Wherever a file ends too soon it is refused, with one line.
TEST_F(GgufTest, EveryTruncationIsRefused) {
    SomeGguf file;
    file.text("general.architecture", "llama").number("llama.block_count", 2).real("x", 1).texts("y", {"a", "bc"});
    file.key("z", 9)
        .head.put(std::uint32_t{9})
        .put(std::uint64_t{1})
        .put(std::uint32_t{0})
        .put(std::uint64_t{2})
        .put(std::uint16_t{0});
    file.tensor("t", {8}).tensor("u", {4, 2});
    const std::string whole = file.bytes();
    ASSERT_TRUE(read(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto cut = read(whole.substr(0, size));
        ASSERT_FALSE(cut) << size << " of " << whole.size();
        EXPECT_EQ(std::count(cut.error().message.begin(), cut.error().message.end(), '\n'), 0);
        EXPECT_LT(cut.error().message.size(), 400U);
    }
}

/// Bytes at random over a good file: refused or read, never a crash nor a huge allocation.
TEST_F(GgufTest, DamageDoesNoHarm) {
    const std::string whole = some_llama().bytes();
    std::mt19937 random(7);
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = whole;
        const int places = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < places; ++i) damaged[random() % 1600] = static_cast<char>(random() % 256);
        const auto head = read(damaged);
        if (!head || !model_from_gguf(*head, "damaged.gguf")) ++refused;
    }
    EXPECT_GT(refused, 500);
    EXPECT_LT(refused, 2000);
}

TEST_F(GgufTest, HostileCountsAreRefused) {
    const auto head_with = [](std::uint64_t tensors, std::uint64_t keys) {
        return GgufBytes().raw("GGUF").put(std::uint32_t{3}).put(tensors).put(keys);
    };
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    expect_refused(head_with(0, most).bytes(), "damaged");
    expect_refused(head_with(most, 0).bytes(), "damaged");
    expect_refused(head_with(0, 1).put(most).bytes(), "at most 65535 are allowed");
    expect_refused(head_with(0, 1).put(std::uint64_t{1000}).bytes(), "cut short");
    expect_refused(head_with(0, 1).text("k").put(std::uint32_t{8}).put(most).bytes(), "at most");
    expect_refused(head_with(0, 1).text("k").put(std::uint32_t{13}).bytes(), "type 13");
    expect_refused(head_with(0, 1).text("k").put(std::uint32_t{7}).put(std::uint8_t{2}).bytes(), "a flag is 0 or 1");
    for (const std::uint32_t type : {0U, 8U, 9U, 12U}) {
        for (const std::uint64_t count : {most, most / 8 + 2, std::uint64_t{1000}})
            expect_refused(head_with(0, 1).text("k").put(std::uint32_t{9}).put(type).put(count).put(most).bytes(),
                           "cut short");
    }
    GgufBytes deep = head_with(0, 1).text("k").put(std::uint32_t{9});
    for (int i = 0; i < 10'000; ++i) deep.put(std::uint32_t{9}).put(std::uint64_t{1});
    expect_refused(deep.bytes(), "arrays in arrays");
    expect_refused(
        head_with(0, 2).text("k").put(std::uint32_t{4}).put(1U).text("k").put(std::uint32_t{4}).put(1U).bytes(),
        "k stands twice");
    expect_refused(head_with(1, 0).text("t").put(5U).bytes(), "5 dimensions");
    expect_refused(head_with(1, 0).text("t").put(2U).put(most / 4).put(most / 4).bytes(), "64 bits");
    expect_refused(head_with(1, 0).text("t").put(1U).put(std::uint64_t{8}).put(0U).put(most).bytes(), "cut short");
    expect_refused(head_with(0, 1).text("\xff").put(std::uint32_t{4}).put(1U).bytes(), "no UTF-8");
    expect_refused(GgufBytes().raw("GGUF").put(std::uint32_t{1}).put(0U).put(0U).bytes(), "version 1");
    expect_refused(GgufBytes().raw("GGUF").put(std::uint32_t{0x03000000}).bytes(), "big-endian");
    expect_refused("PK\3\4 and so on", "no GGUF file");
    expect_refused("", "no GGUF file");
    EXPECT_FALSE(read_gguf(folder.path()));
    EXPECT_FALSE(read_gguf(folder / "none.gguf"));
}

TEST_F(GgufTest, BlocksHaveTheirBytes) {
    EXPECT_EQ(gguf_bytes(0, 10), 40);
    EXPECT_EQ(gguf_bytes(30, 10), 20);
    EXPECT_EQ(gguf_bytes(12, 512), 288);  // Q4_K
    EXPECT_EQ(gguf_bytes(8, 64), 68);     // Q8_0
    EXPECT_EQ(gguf_bytes(12, 100), std::nullopt);
    EXPECT_EQ(gguf_bytes(4, 32), std::nullopt);
    EXPECT_EQ(gguf_bytes(28, std::numeric_limits<std::int64_t>::max()), std::nullopt);
}

}  // namespace
}  // namespace plimsoll
