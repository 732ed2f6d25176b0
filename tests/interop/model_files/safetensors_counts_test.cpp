// SPDX-License-Identifier: Apache-2.0
// Parameters by dtype from headers alone; mixed and damaged folders are refused.
#include "core/interop/model_files/safetensors_counts.h"

#include <gmock/gmock.h>

#include "core/checkpoint/safetensors_header.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class SafetensorsCountsTest : public ::testing::Test {
protected:
    struct Tensor {
        std::string name, dtype;
        std::vector<std::int64_t> shape;
        std::uint64_t bytes;
    };
    void put(const std::string& name, const std::vector<Tensor>& tensors) {
        std::vector<TensorPlace> places;
        std::uint64_t next = 0;
        for (const Tensor& each : tensors) {
            places.push_back({each.name, each.dtype, each.shape, next, next + each.bytes});
            next += each.bytes;
        }
        auto file = FileWriter::create(folder / name);
        ASSERT_TRUE(file);
        ASSERT_TRUE(write_safetensors_header(*file, *make_safetensors_header(places, {})));
        const std::string data(next, '\0');
        ASSERT_TRUE(file->write(data.data(), data.size()));
        ASSERT_TRUE(file->finish());
    }
    void expect_refused(const std::filesystem::path& path, const std::string& words) {
        const auto counts = count_safetensors(path);
        ASSERT_FALSE(counts) << words;
        EXPECT_THAT(counts.error().message, HasSubstr(words));
    }
    TempFolder folder;
};

TEST_F(SafetensorsCountsTest, DtypesAreCountedApart) {
    put("a.safetensors",
        {{"w", "BF16", {10, 3}, 60}, {"b", "F32", {5}, 20}, {"none", "F32", {0, 7}, 0}, {"one", "F32", {}, 4}});
    const auto counts = count_safetensors(folder / "a.safetensors");
    ASSERT_TRUE(counts) << counts.error().message;
    ASSERT_EQ(counts->dtypes.size(), 2U);
    EXPECT_EQ(counts->dtypes[0].dtype, "BF16");
    EXPECT_EQ(counts->dtypes[0].parameters, 30);
    EXPECT_EQ(counts->dtypes[1].parameters, 6);
    EXPECT_EQ(counts->dtypes[1].tensors, 3);
    EXPECT_EQ(counts->total.parameters, 36);
    EXPECT_EQ(counts->total.bytes, 84);
    EXPECT_TRUE(counts->config.empty());
    EXPECT_EQ(to_json(*counts)["dtypes"]["BF16"]["bytes"], 60);
}

TEST_F(SafetensorsCountsTest, AFolderIsWhatItsIndexNames) {
    put("model-1.safetensors", {{"a", "F16", {4}, 8}});
    put("model-2.safetensors", {{"b", "F16", {6}, 12}});
    EXPECT_EQ(count_safetensors(folder.path())->total.parameters, 10);
    put("consolidated.safetensors", {{"a", "F16", {4}, 8}, {"b", "F16", {6}, 12}});
    expect_refused(folder.path(), "tensor \"a\" is in consolidated.safetensors and in model-1.safetensors");
    const auto index = folder / "model.safetensors.index.json";
    put_contents(index, R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
    put_contents(folder / "config.json", "{}");
    const auto counts = count_safetensors(folder.path());
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(counts->files.size(), 2U);
    EXPECT_EQ(counts->total.parameters, 10);
    EXPECT_EQ(counts->config, folder / "config.json");

    put_contents(index, R"({"weight_map": {"a": "model-1.safetensors"}})");
    EXPECT_EQ(count_safetensors(folder.path())->total.parameters, 4);
    put_contents(index, R"({"weight_map": {"a": "model-1.safetensors", "c": "model-2.safetensors"}})");
    expect_refused(folder.path(), "has no such tensor");
    put_contents(index, R"({"weight_map": {"a": "consolidated.safetensors"}})");
    expect_refused(folder.path(), "the index knows nothing");
    put_contents(index, R"({"weight_map": {"a": "gone.safetensors"}})");
    expect_refused(folder.path(), "gone.safetensors");
    put_contents(index, R"({"weight_map": {"a": "../a.safetensors"}})");
    expect_refused(folder.path(), "no name of a file");
    put_contents(index, R"({"weights": {}})");
    expect_refused(folder.path(), "no weight_map");
}

TEST_F(SafetensorsCountsTest, DamageIsNamed) {
    expect_refused(folder.path(), "no safetensors files");
    expect_refused(folder / "none.safetensors", "none.safetensors");
    put("a.safetensors", {{"w", "F32", {10}, 40}});
    const std::string whole = contents_of(folder / "a.safetensors");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        put_contents(folder / "a.safetensors", whole.substr(0, size));
        EXPECT_FALSE(count_safetensors(folder / "a.safetensors")) << size;
    }
}

}  // namespace
}  // namespace plimsoll
