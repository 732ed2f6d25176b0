// SPDX-License-Identifier: Apache-2.0
// The folder that transformers reads: every byte where the header says, sharded or not. That transformers itself reads
// it is tested by engine_transformers_reads.
#include "core/interop/model_files/hf_folder.h"

#include <gmock/gmock.h>

#include <set>

#include "core/base/json.h"
#include "core/checkpoint/safetensors_header.h"
#include "tests/support/some_checkpoint.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class HfFolderTest : public ::testing::Test {
protected:
    /// The bytes of each tensor, whichever file it is in.
    std::map<std::string, std::string> tensors_in(const fs::path& place) {
        std::map<std::string, std::string> tensors;
        for (const auto& entry : fs::directory_iterator(place)) {
            if (entry.path().extension() != ".safetensors") continue;
            const auto file = FileReader::open(entry.path());
            const auto header = read_safetensors_header(*file, entry.path().string());
            EXPECT_TRUE(header) << header.error().message;
            EXPECT_EQ(header->metadata.at("format"), "pt");
            const std::string bytes = contents_of(entry.path());
            for (const TensorPlace& tensor : header->places) {
                tensors[tensor.name] = bytes.substr(header->data + tensor.begin, tensor.bytes());
                in_file[tensor.name] = entry.path().filename().string();
            }
        }
        return tensors;
    }
    std::set<std::string> names_in(const fs::path& place) {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(place)) names.insert(entry.path().filename().string());
        return names;
    }

    TempFolder folder;
    fs::path checkpoint = put_checkpoint(folder / "checkpoints", 7);
    std::map<std::string, std::string> in_file;
};

TEST_F(HfFolderTest, OneFileHoldsTheSameBytes) {
    const auto written = export_hf_folder(checkpoint, folder / "out");
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->files, 1U);
    EXPECT_EQ(written->tensors, some_tensors().size());
    EXPECT_EQ(names_in(folder / "out"), (std::set<std::string>{"config.json", "model.safetensors"}));
    EXPECT_EQ(tensors_in(folder / "out"), some_tensors());
    EXPECT_EQ(*read_json(folder / "out/config.json"), *read_json(checkpoint / "config.json"));
}

TEST_F(HfFolderTest, ShardsHoldTheSameBytesAndTheIndexSaysWhichFile) {
    // Tensors of 400, 400, 40, 40 and 4 bytes.
    HfFolderOptions options;
    options.shard_size = 100;
    const auto written = export_hf_folder(checkpoint, folder / "out", options);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->files, 3U);
    EXPECT_EQ(tensors_in(folder / "out"), some_tensors());
    const Json index = *read_json(folder / "out/model.safetensors.index.json");
    EXPECT_EQ(index["metadata"]["total_size"], 884);
    EXPECT_EQ(index["weight_map"].get<decltype(in_file)>(), in_file);
    EXPECT_EQ(names_in(folder / "out"),
              (std::set<std::string>{"config.json", "model.safetensors.index.json", "model-00001-of-00003.safetensors",
                                     "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"}));
    options.shard_size = 884;
    EXPECT_EQ(export_hf_folder(checkpoint, folder / "whole", options)->files, 1U);
    options.shard_size = 883;
    EXPECT_EQ(export_hf_folder(checkpoint, folder / "two", options)->files, 2U);
}

TEST_F(HfFolderTest, WhatIsThereIsLeftAlone) {
    fs::create_directory(folder / "out");
    const auto refused = export_hf_folder(checkpoint, folder / "out");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("is there already"));
    EXPECT_TRUE(fs::is_empty(folder / "out"));
    fs::create_symlink(folder / "nowhere", folder / "link");
    EXPECT_FALSE(export_hf_folder(checkpoint, folder / "link"));
    EXPECT_FALSE(export_hf_folder(checkpoint, folder / "none/out"));
    EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"checkpoints", "link", "out"}));
}

TEST_F(HfFolderTest, StoppedExportLeavesNothing) {
    HfFolderOptions options;
    Bytes seen = 0;
    options.go_on = [&](Bytes done, Bytes total) {
        EXPECT_EQ(total, 884);
        seen = done;
        return done < 800;
    };
    EXPECT_FALSE(export_hf_folder(checkpoint, folder / "out/", options));
    EXPECT_EQ(seen, 800);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"checkpoints"});
}

TEST_F(HfFolderTest, NewestWholeCheckpointIsTakenAndItsOptimizerDoesNotMatter) {
    const fs::path newer = put_checkpoint(folder / "checkpoints", 9);
    put_contents(newer / "optimizer.safetensors", "damaged");
    std::vector<std::string> skipped;
    EXPECT_EQ(checkpoint_to_export(folder / "checkpoints", 0, ExportedWeights::Model, &skipped), newer);
    EXPECT_TRUE(skipped.empty());
    EXPECT_EQ(checkpoint_to_export(folder / "checkpoints", 7, ExportedWeights::Model, &skipped), checkpoint);

    std::string bytes = contents_of(newer / "model.safetensors");
    bytes.back() ^= 1;
    put_contents(newer / "model.safetensors", bytes);
    EXPECT_EQ(checkpoint_to_export(folder / "checkpoints", 0, ExportedWeights::Model, &skipped), checkpoint);
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_THAT(skipped[0], HasSubstr("step-00000009"));
    EXPECT_THAT(checkpoint_to_export(folder / "checkpoints", 9, ExportedWeights::Model, &skipped).error().message,
                HasSubstr("is not as it was written"));
    EXPECT_THAT(checkpoint_to_export(folder / "checkpoints", 8, ExportedWeights::Model, &skipped).error().message,
                HasSubstr("9, 7"));
    EXPECT_THAT(checkpoint_to_export(folder / "none", 0, ExportedWeights::Model, &skipped).error().message,
                HasSubstr("holds no checkpoint"));
}

}  // namespace
}  // namespace plimsoll
