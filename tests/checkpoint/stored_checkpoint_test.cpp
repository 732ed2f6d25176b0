// SPDX-License-Identifier: Apache-2.0
// Checkpoints made by hand, whole and hostile. Those of the real PyTorch and DeepSpeed are read by
// checkpoint_reads_pytorch_and_deepspeed.
#include "core/checkpoint/stored_checkpoint.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <bit>
#include <cstring>

#include "tests/fuzz/mutate.h"
#include "tests/support/growth.h"
#include "tests/support/some_torch_file.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tensor = PickleText::Tensor;

class StoredCheckpointTest : public ::testing::Test {
protected:
    std::filesystem::path put(const std::string& bytes, const std::string& name = "pytorch_model.bin") {
        put_contents(folder / name, bytes);
        return folder / name;
    }
    /// {"w": tensor} over storages.
    std::filesystem::path put_tensor(const Tensor& tensor, const std::vector<std::string>& storages) {
        return put(torch_archive(PickleText().op("}").text("w").tensor(tensor).op("s").done(), storages).bytes());
    }
    static std::vector<float> values_of(const StoredTensor& tensor) {
        std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
        const auto read = read_values(tensor, values.data());
        EXPECT_TRUE(read) << read.error().message;
        return values;
    }
    void expect_refused(const std::filesystem::path& path, const std::string& words) {
        const auto checkpoint = open_checkpoint(path);
        ASSERT_FALSE(checkpoint) << words;
        EXPECT_THAT(checkpoint.error().message, HasSubstr(words));
    }

    /// A .metadata of one tensor "w" [4, 2] in two halves.
    struct Chunk {
        std::vector<std::int64_t> offsets, sizes;
        std::string path = "__0_0.distcp";
        std::int64_t offset = 0, length = 0;
    };
    std::string metadata(const std::vector<Chunk>& chunks, const std::vector<std::int64_t>& shape = {4, 2},
                         const std::string& transform = "") {
        const char* const module = "torch.distributed.checkpoint.metadata";
        PickleText text;
        text.global(module, "Metadata").op(")\x81}(").text("state_dict_metadata").op("}").text("w");
        text.global(module, "TensorStorageMetadata").op(")\x81}(").text("properties");
        text.global(module, "TensorProperties").op(")\x81(").global("torch", "float32").op("tb");
        text.text("size").size(shape).text("chunks").op("](");
        for (const Chunk& each : chunks) {
            text.global(module, "ChunkStorageMetadata").op(")\x81}(").text("offsets").size(each.offsets);
            text.text("sizes").size(each.sizes).op("ub");
        }
        text.op("eubs").text("storage_data").op("}(");
        for (const Chunk& each : chunks) {
            text.global(module, "MetadataIndex").op(")\x81}(").text("fqn").text("w").text("offset").size(each.offsets);
            text.op("ub").global("torch.distributed.checkpoint.filesystem", "_StorageInfo").op(")\x81}(");
            text.text("relative_path").text(each.path).text("offset").number(each.offset);
            text.text("length").number(each.length);
            if (!transform.empty()) text.text("transform_descriptors").op("](").text(transform).op("e");
            text.op("ub");
        }
        return text.op("uub").done();
    }
    /// Writes both halves into one file; gives where they lie.
    std::vector<Chunk> put_halves() {
        std::string bytes = "junk before";
        std::vector<Chunk> chunks;
        for (int half = 0; half < 2; ++half) {
            const std::string archive =
                torch_archive(PickleText().tensor({"0", 0, {2, 2}, {2, 1}}).done(), {floats(4, 4.F * half)}).bytes();
            chunks.push_back({{2 * half, 0},
                              {2, 2},
                              "__0_0.distcp",
                              static_cast<std::int64_t>(bytes.size()),
                              static_cast<std::int64_t>(archive.size())});
            bytes += archive;
        }
        put(bytes, "__0_0.distcp");
        return chunks;
    }
    TempFolder folder;
};

TEST_F(StoredCheckpointTest, ViewsAreReadInOrder) {
    put_tensor({"0", 1, {2, 3}, {1, 2}}, {floats(8)});
    const auto checkpoint = open_checkpoint(folder.path());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->kind, CheckpointKind::TorchFile);
    ASSERT_EQ(checkpoint->weights.size(), 1U);
    EXPECT_EQ(checkpoint->weights[0].name, "w");
    EXPECT_EQ(checkpoint->weights[0].dtype, "F32");
    EXPECT_THAT(values_of(checkpoint->weights[0]), ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST_F(StoredCheckpointTest, Zip64AndCommentsAreRead) {
    ZipText zip = torch_archive(PickleText().op("}").text("w").tensor({"0", 0, {2}, {1}}).op("s").done(), {floats(2)});
    zip.zip64 = true;
    put(zip.bytes());
    const auto large = open_checkpoint(folder.path());
    ASSERT_TRUE(large) << large.error().message;
    EXPECT_THAT(values_of(large->weights[0]), ElementsAre(0, 1));
    zip.zip64 = false;
    std::string commented = zip.bytes();
    commented.resize(commented.size() - 2);
    put_u16(commented, 5);
    put(commented + "hello");
    EXPECT_TRUE(open_checkpoint(folder.path()));
}

TEST_F(StoredCheckpointTest, ChecksumsAreHeldAgainstTheBytes) {
    ZipText zip = torch_archive(PickleText().op("}").text("w").tensor({"0", 1, {2}, {1}}).op("s").done(), {floats(4)});
    for (ZipText::Entry& each : zip.entries) {
        each.crc = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const unsigned char*>(each.data.data()),
                                                    static_cast<unsigned>(each.data.size())));
    }
    put(zip.bytes());
    const auto good = open_checkpoint(folder.path());
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_THAT(values_of(good->weights[0]), ElementsAre(1, 2));
    // A byte of the storage that the tensor does not even use.
    zip.entries.back().data[15] ^= 1;
    put(zip.bytes());
    const auto bad = open_checkpoint(folder.path());
    ASSERT_TRUE(bad);
    float values[2];
    const auto read = read_values(bad->weights[0], values);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("checksum"));
    zip.entries.front().crc ^= 1;
    put(zip.bytes());
    expect_refused(folder.path(), "checksum");
}

TEST_F(StoredCheckpointTest, WhatATensorClaimsIsHeldAgainstItsStorage) {
    const std::int64_t huge = std::int64_t{1} << 62;
    const std::vector<std::pair<Tensor, std::string>> cases{
        {{"0", 0, {5}, {1}}, "more values than there are bytes"},
        {{"0", 1, {4}, {1}}, "ends behind its storage"},
        {{"0", -1, {2}, {1}}, "ends behind its storage"},
        {{"0", 0, {2, 2}, {-1, 1}}, "steps that lead out"},
        {{"0", 0, {2, 2}, {huge, huge}}, "steps that lead out"},
        {{"0", huge, {2}, {huge}}, "steps that lead out"},
        {{"0", 0, {huge}, {0}}, "a shape or a dtype that cannot be"},
        {{"0", 0, {1 << 20, 1 << 20}, {0, 0}}, "more values than there are bytes"},
        {{"0", 0, {huge, 0, huge}, {1, 1, 1}}, "a shape or a dtype that cannot be"},
        {{"0", 0, {-2}, {1}}, "a shape or a dtype that cannot be"},
        {{"0", 0, {2}, {1, 1}}, "has no shape"},
        {{"7", 0, {2}, {1}}, "storage of tensor w is missing"},
        {{"../0", 0, {2}, {1}}, "storage of tensor w is missing"},
        {{"0", 0, std::vector<std::int64_t>(70, 1), std::vector<std::int64_t>(70, 1)}, "a shape or a dtype"},
        {{"0", 0, {2}, {1}, "QInt8Storage"}, "QInt8Storage, which cannot be read"},
    };
    for (const auto& [tensor, words] : cases) {
        put_tensor(tensor, {floats(4)});
        expect_refused(folder.path(), words);
    }
}

TEST_F(StoredCheckpointTest, OtherFilesAreNamedForWhatTheyAre) {
    expect_refused(put(""), "no zip archive");
    expect_refused(put("not a zip archive at all, by any means"), "no zip archive");
    expect_refused(put(bytes_of("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.")), "before PyTorch 1.6");
    ZipText zip = torch_archive(PickleText().op("}").done(), {});
    expect_refused(put(zip.bytes()), "holds no tensors");
    zip.entries[1].data = "big";
    expect_refused(put(zip.bytes()), "big-endian");
    zip.entries[1].data = "little";
    zip.entries[0].method = 8;
    expect_refused(put(zip.bytes()), "compressed or encrypted");
    zip.entries.erase(zip.entries.begin());
    expect_refused(put(zip.bytes()), "without data.pkl");
    expect_refused(folder / "nowhere", "there is no file or folder");
    std::filesystem::create_directory(folder / "empty");
    expect_refused(folder / "empty", "holds no checkpoint that is known");
}

TEST_F(StoredCheckpointTest, DictsThatHoldEachOtherEnd) {
    // d = {}; d["a"] = d["b"] = … = d: 2^16 names and more if nobody counted.
    PickleText text;
    text.op("}").op(std::string_view("q\x00", 2)).op("(");
    for (int i = 0; i < 200; ++i) text.text("name" + std::to_string(i)).op(std::string_view("h\x00", 2));
    expect_refused(put(torch_archive(text.op("u").done(), {}).bytes()), "more values than a checkpoint could have");
}

TEST_F(StoredCheckpointTest, IndexesStayInTheirFolder) {
    put(torch_archive(PickleText().op("}").text("w").tensor({"0", 0, {2}, {1}}).op("s").done(), {floats(2)}).bytes(),
        "pytorch_model-00001-of-00001.bin");
    put(R"({"weight_map": {"w": "pytorch_model-00001-of-00001.bin"}})", "pytorch_model.bin.index.json");
    EXPECT_TRUE(open_checkpoint(folder.path()));
    put(R"({"weight_map": {"w": "../model.bin"}})", "pytorch_model.bin.index.json");
    expect_refused(folder.path(), "a file that is not in the folder");
    put(R"({"weight_map": {"v": "pytorch_model-00001-of-00001.bin"}})", "pytorch_model.bin.index.json");
    expect_refused(folder.path(), "no file has tensor v");
}

TEST_F(StoredCheckpointTest, ChunksBecomeOneTensor) {
    const std::vector<Chunk> chunks = put_halves();
    put(metadata(chunks), ".metadata");
    const auto checkpoint = open_checkpoint(folder.path());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->kind, CheckpointKind::Distributed);
    EXPECT_THAT(values_of(checkpoint->weights[0]), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    // Side by side instead of one below the other.
    std::vector<Chunk> columns = chunks;
    columns[1].offsets = {0, 2};
    put(metadata(columns, {2, 4}), ".metadata");
    EXPECT_THAT(values_of(open_checkpoint(folder.path())->weights[0]), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST_F(StoredCheckpointTest, ChunksThatDoNotFitAreRefused) {
    const std::vector<Chunk> good = put_halves();
    const auto refuse = [&](auto change, const std::string& words, const std::vector<std::int64_t>& shape = {4, 2}) {
        std::vector<Chunk> chunks = good;
        change(chunks);
        put(metadata(chunks, shape), ".metadata");
        expect_refused(folder.path(), words);
    };
    refuse([](auto& chunks) { chunks[1].path = "../__0_0.distcp"; }, "not in the folder");
    refuse([](auto& chunks) { chunks[1].path = "/etc/passwd"; }, "not in the folder");
    refuse([](auto& chunks) { chunks[1].path = ".."; }, "not in the folder");
    refuse([](auto& chunks) { chunks[1].path = "__9_0.distcp"; }, "__9_0.distcp");
    refuse([](auto& chunks) { chunks[1].length += 1; }, "bytes from byte");
    refuse([](auto& chunks) { chunks[1].offset = INT64_MAX; }, "bytes from byte");
    refuse([](auto& chunks) { chunks[1].offset = -1; }, "a place is not whole");
    refuse([](auto& chunks) { chunks.pop_back(); }, "4 of the 8 values");
    refuse(
        [](auto& chunks) {
            chunks[1].offset = chunks[0].offset;
            chunks.push_back(chunks[1]);
        },
        "pieces of __0_0.distcp lie upon each other");
    refuse([](auto& chunks) { chunks[1].offsets = {1, 0}; }, "two parts of tensor w overlap");
    refuse([](auto& chunks) { chunks[1].offsets = {3, 0}; }, "lies outside of it");
    refuse([](auto& chunks) { chunks[1].offsets = {INT64_MAX, 0}; }, "lies outside of it");
    refuse([](auto& chunks) { chunks[1].sizes = {-2, 2}; }, "lies outside of it");
    refuse([](auto&) {}, "8 of the 1152921504606846976 values", {1 << 30, 1 << 30});
    refuse([](auto&) {}, "a shape or a dtype that cannot be", {INT64_MAX, 4});
    put(metadata(good, {4, 2}, "zstd"), ".metadata");
    expect_refused(folder.path(), "without extensions");
    put("nonsense", ".metadata");
    expect_refused(folder.path(), ".metadata");
}

TEST_F(StoredCheckpointTest, AChunkIsWhatTheMetadataSays) {
    std::vector<Chunk> chunks = put_halves();
    // The second half's place again, said to be the first too: sizes agree, and nothing else can be known.
    chunks[0].sizes = {1, 4};
    chunks[1].sizes = {1, 4};
    chunks[1].offsets = {1, 0};
    put(metadata(chunks, {2, 4}), ".metadata");
    const auto checkpoint = open_checkpoint(folder.path());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    float values[8];
    const auto read = read_values(checkpoint->weights[0], values);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("not what the metadata says"));
}

TEST_F(StoredCheckpointTest, PrefixesOfToolsAreCut) {
    const auto names_under = [&](const std::vector<std::string>& names) {
        PickleText text;
        text.op("}(");
        for (const std::string& name : names) text.text(name).tensor({"0", 0, {2}, {1}});
        put(torch_archive(text.op("u").done(), {floats(2)}).bytes());
        std::vector<std::string> found;
        const auto checkpoint = open_checkpoint(folder.path());
        const auto weights =
            model_weights(*checkpoint, "embed_tokens.weight", {"model", "lm_head", "embed_tokens", "layers", "norm"});
        if (!weights) return std::vector<std::string>{weights.error().message};
        for (const StoredTensor& each : *weights) found.push_back(each.name);
        return found;
    };
    const auto whole = ElementsAre("model.embed_tokens.weight", "lm_head.weight");
    for (const std::string prefix : {"", "model.", "module.", "state_dict.model.", "module._orig_mod."})
        EXPECT_THAT(names_under({prefix + "model.embed_tokens.weight", prefix + "lm_head.weight", "other.weight"}),
                    whole)
            << prefix;
    EXPECT_THAT(names_under({"model._fsdp_wrapped_module.embed_tokens.weight", "lm_head.weight"}), whole);
    EXPECT_THAT(names_under({"embed_tokens.weight", "optimizer.state.embed_tokens.weight"}),
                ElementsAre("embed_tokens.weight"));
    EXPECT_THAT(names_under({"a.model.embed_tokens.weight", "b.model.embed_tokens.weight"}),
                ElementsAre(HasSubstr("more than one model")));
    EXPECT_THAT(names_under({"wte.weight"}), ElementsAre(HasSubstr("it is of another model")));
}

TEST_F(StoredCheckpointTest, OneStorageUnderAThousandNamesIsRefused) {
    PickleText text;
    text.op("}(").text("embed_tokens.weight").tensor({"0", 0, {2}, {1}});
    for (int i = 0; i < 1000; ++i) text.text("layers." + std::to_string(i)).tensor({"0", 0, {2}, {1}});
    put(torch_archive(text.op("u").done(), {floats(2)}).bytes());
    const auto checkpoint = open_checkpoint(folder.path());
    ASSERT_TRUE(checkpoint);
    const auto weights = model_weights(*checkpoint, "embed_tokens.weight", {"model", "embed_tokens", "layers"});
    ASSERT_FALSE(weights);
    EXPECT_THAT(weights.error().message, HasSubstr("share storage"));
}

TEST_F(StoredCheckpointTest, ANameOfNothingButWrappersIsCutInTimeThatGrowsWithIt) {
    const auto prepare = [&](std::size_t size) {
        std::string name;
        while (name.size() < size) name += "_orig_mod.";
        PickleText text;
        text.op("}(").text(name + "embed_tokens.weight").tensor({"0", 0, {2}, {1}});
        return *open_checkpoint(put(torch_archive(text.op("u").done(), {floats(2)}).bytes()));
    };
    const auto names = [](const StoredCheckpoint& checkpoint) {
        return model_weights(checkpoint, "embed_tokens.weight", {"embed_tokens"});
    };
    EXPECT_EQ(names(prepare(1000))->front().name, "embed_tokens.weight");
    EXPECT_LT(growth<StoredCheckpoint>(100'000, prepare, [&](const StoredCheckpoint& each) { (void)names(each); }),
              quadratic_growth);
}

/// Damage at random; under the sanitizers (packaging/test --sanitize) nothing may be read or written outside.
TEST_F(StoredCheckpointTest, AnyDamageIsASentence) {
    PickleText nested;
    nested.op("}(")
        .text("model")
        .op("}(")
        .text("w")
        .tensor({"0", 1, {2, 3}, {1, 2}})
        .text("v")
        .tensor({"1", 0, {2}, {1}});
    nested.op("u").text("optimizer").op("}").text("step").number(3).op("u");
    std::filesystem::create_directory(folder / "bin");
    put(torch_archive(nested.done(), {floats(8), floats(2)}).bytes(), "bin/pytorch_model.bin");
    const Mutations bin = read_mutated(folder / "bin", 1000, 1);
    EXPECT_TRUE(bin.empty.empty());
    EXPECT_GT(bin.refused, 200);
    EXPECT_GT(bin.read, 50) << "damage that leaves the file as it is would show nothing";
    std::filesystem::create_directory(folder / "dcp");
    const std::vector<Chunk> chunks = put_halves();
    std::filesystem::rename(folder / "__0_0.distcp", folder / "dcp/__0_0.distcp");
    put(metadata(chunks), "dcp/.metadata");
    const Mutations dcp = read_mutated(folder / "dcp", 1000, 2);
    EXPECT_TRUE(dcp.empty.empty());
    EXPECT_GT(dcp.refused, 200);
}

}  // namespace
}  // namespace plimsoll
