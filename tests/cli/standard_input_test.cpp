// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class StandardInputTest : public CliTest {
protected:
    /// What the command prints when standard input is `text`.
    Output piped(const std::string& text, const std::string& command) {
        put_contents(folder / "in", text);
        const std::string line = fmt::format("cat {0}/in | {1}/plimsoll {2} > {0}/out 2> {0}/err",
                                             folder.path().string(), PLIMSOLL_BIN_DIR, command);
        const int code = std::system(line.c_str());
        return {WEXITSTATUS(code), contents_of(folder / "out"), contents_of(folder / "err")};
    }
};

TEST_F(StandardInputTest, StandsForAnyFileThatIsRead) {
    const std::string plan = to_json(*plan_preset("llama-7b-4xa100")).dump();
    const Output estimate = piped(plan, "estimate -"), by_name = plimsoll({"estimate", "llama-7b-4xa100"});
    EXPECT_EQ(estimate.code, 0) << estimate.err;
    EXPECT_EQ(estimate.out, by_name.out);
    const std::string doctor = piped(plan, "doctor -").out, first = "plan standard input\n";
    EXPECT_THAT(doctor, ::testing::StartsWith(first));
    EXPECT_EQ("plan llama-7b-4xa100\n" + doctor.substr(first.size()), plimsoll({"doctor", "llama-7b-4xa100"}).out);

    const Output exported = plimsoll({"export", "deepspeed", "llama-7b-4xa100"});
    EXPECT_EQ(piped(exported.out, "lint - --world 4").code, 0) << piped(exported.out, "lint - --world 4").out;
    EXPECT_EQ(piped(exported.out, "import deepspeed - llama-7b-4xa100").code, 0);

    const Output config = piped(R"({"model_type":"llama","hidden_size":64,"intermediate_size":128,"vocab_size":100,
        "num_hidden_layers":2,"num_attention_heads":4,"max_position_embeddings":64,"tie_word_embeddings":false})",
                                "import hf -");
    EXPECT_EQ(config.code, 0) << config.err;
    EXPECT_THAT(config.out, HasSubstr("\"hidden_size\": 64"));
}

TEST_F(StandardInputTest, IsNamedInSentences) {
    const Output broken = piped("{\"model\": ", "estimate -");
    EXPECT_EQ(broken.code, 2);
    EXPECT_THAT(broken.err, HasSubstr("standard input, line 1"));
    EXPECT_THAT(broken.err, ::testing::Not(HasSubstr("/proc")));
    EXPECT_EQ(piped("", "estimate -").code, 2) << "nothing came";
}

TEST_F(StandardInputTest, IsNotTakenForTheNameOfAnOutput) {
    const Output written = piped("", "export deepspeed llama-7b -o -");
    EXPECT_THAT(written.err, ::testing::Not(HasSubstr("standard input")));
    std::filesystem::remove("-");
}

}  // namespace
}  // namespace plimsoll
