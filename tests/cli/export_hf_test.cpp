// SPDX-License-Identifier: Apache-2.0
// plimsoll export hf. What the folder holds is tests/interop/model_files/hf_folder_test.cpp's.
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/run/run_folder.h"
#include "tests/support/program.h"
#include "tests/support/some_checkpoint.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class ExportHfTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        ASSERT_TRUE(RunFolder::create(folder / "run", plan_from_argument("cpu-demo")->plan, false));
    }
    std::filesystem::path checkpoints() { return folder / "run/checkpoints"; }
    void expect_no_export(std::vector<std::string> more, const std::string& words) {
        more.insert(more.begin(), {"export", "hf", path("run"), "--out", path("exported")});
        expect_refused(more, words);
        EXPECT_FALSE(std::filesystem::exists(folder / "exported"));
    }
};

TEST_F(ExportHfTest, NewestCheckpointBecomesAFolder) {
    put_checkpoint(checkpoints(), 3);
    const auto newest = put_checkpoint(checkpoints(), 20);
    const Output output = plimsoll({"export", "hf", path("run"), "--out", path("exported")});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("step-00000020"));
    EXPECT_EQ(contents_of(folder / "exported/model.safetensors").size(),
              contents_of(newest / "model.safetensors").size());
    EXPECT_EQ(plimsoll({"export", "hf", path("run"), "--out", path("old"), "--step", "3", "--shard-size", "500"}).code,
              0);
    EXPECT_TRUE(std::filesystem::exists(folder / "old/model-00001-of-00002.safetensors"));
}

TEST_F(ExportHfTest, BadInputIsNamed) {
    expect_no_export({}, "holds no checkpoint");
    const auto checkpoint = put_checkpoint(checkpoints(), 20);
    for (const char* size : {"large", "0", "-5GB", "5 G B", "1e999GB"}) {
        expect_no_export({"--shard-size", size}, "--shard-size is \"" + std::string(size));
    }
    expect_no_export({"--step", "19"}, "there is no checkpoint of step 19");
    expect_no_export({"--step", "0"}, "--step is 0");
    expect_no_export({"--step", "x"}, "--step");
    put_contents(checkpoint / "model.safetensors", "cut short");
    expect_no_export({}, "damaged");
    expect_no_export({"--step", "20"}, "is not as it was written");
    expect_refused({"export", "hf", path("none")}, "none");
    expect_refused({"export", "hf"}, "RUN");
}

TEST_F(ExportHfTest, FolderThatIsThereIsNotOverwritten) {
    put_checkpoint(checkpoints(), 20);
    put_contents(folder / "exported", "mine");
    expect_refused({"export", "hf", path("run"), "--out", path("exported")}, "is there already");
    EXPECT_EQ(contents_of(folder / "exported"), "mine");
}

TEST_F(ExportHfTest, DamagedNewestIsPassedOverAndSaidToBe) {
    put_checkpoint(checkpoints(), 3);
    put_contents(put_checkpoint(checkpoints(), 20) / "config.json", "{}");
    const Output output = plimsoll({"export", "hf", path("run"), "--out", path("exported")});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("passed over: step-00000020"));
    EXPECT_THAT(output.out, HasSubstr("step-00000003"));
}

}  // namespace
}  // namespace plimsoll
