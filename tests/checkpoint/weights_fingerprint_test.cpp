// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/weights_fingerprint.h"

#include <gmock/gmock.h>

#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

TEST(WeightsFingerprint, IsOfTheWeightsWhereverTheyLie) {
    const TempFolder folder;
    for (const char* name : {"a", "b"}) {
        std::filesystem::create_directories(folder / name);
        put_contents(folder / name / "model-1.safetensors", "one");
        put_contents(folder / name / "model-2.safetensors", "two");
    }
    const auto of = [&](const std::string& name) { return weights_fingerprint(folder / name).value(); };
    const std::uint64_t whole = of("a");
    EXPECT_NE(whole, 0U);
    EXPECT_EQ(of("b"), whole);
    put_contents(folder / "b/README.md", "no weights");
    EXPECT_EQ(of("b"), whole);
    put_contents(folder / "b/model-2.safetensors", "Two");
    EXPECT_NE(of("b"), whole);
    put_contents(folder / "b/model-1.safetensors", "two");
    put_contents(folder / "b/model-2.safetensors", "one");
    EXPECT_NE(of("b"), whole) << "which file holds what counts";
}

TEST(WeightsFingerprint, WithoutSafetensorsEveryFileCounts) {
    const TempFolder folder;
    std::filesystem::create_directories(folder / "deep");
    put_contents(folder / "pytorch_model.bin", "one");
    put_contents(folder / "deep/shard", "two");
    const std::uint64_t whole = weights_fingerprint(folder.path()).value();
    put_contents(folder / "deep/shard", "tow");
    EXPECT_NE(weights_fingerprint(folder.path()).value(), whole);
}

TEST(WeightsFingerprint, AFolderThatIsNotThereIsAnError) {
    const TempFolder folder;
    const auto none = weights_fingerprint(folder / "none");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, ::testing::HasSubstr("cannot read the weights in"));
}

}  // namespace
}  // namespace plimsoll
