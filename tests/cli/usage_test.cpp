// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/base/version.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class UsageTest : public CliTest {};

const std::vector<std::vector<std::string>> commands{{},
                                                     {"estimate"},
                                                     {"train"},
                                                     {"watch"},
                                                     {"runs"},
                                                     {"doctor"},
                                                     {"stop"},
                                                     {"export"},
                                                     {"import"},
                                                     {"presets"},
                                                     {"schema"},
                                                     {"machine"},
                                                     {"export", "deepspeed"},
                                                     {"import", "hf"},
                                                     {"supervise"},
                                                     {"tokenize"},
                                                     {"architecture"}};

TEST_F(UsageTest, EveryCommandHasHelpAndVersion) {
    for (const auto& command : commands) {
        auto with = [&](const char* option) {
            auto arguments = command;
            arguments.emplace_back(option);
            return plimsoll(arguments);
        };
        const Output help = with("--help"), version = with("--version");
        EXPECT_EQ(help.code, 0) << ::testing::PrintToString(command);
        EXPECT_THAT(help.out, HasSubstr("Usage: ")) << ::testing::PrintToString(command);
        EXPECT_EQ(help.err, "");
        EXPECT_EQ(version.code, 0) << ::testing::PrintToString(command);
        EXPECT_EQ(version.out, std::string("plimsoll ") + plimsoll::version() + "\n")
            << ::testing::PrintToString(command);
    }
}

TEST_F(UsageTest, WrongUsageIsOneSentenceAndExitCodeTwo) {
    expect_refused({}, "A subcommand is required");
    expect_refused({"estimat"}, "there is no command \"estimat\" (did you mean \"estimate\"?)");
    expect_refused({"estimate", "--no-such"}, "--no-such");
    expect_refused({"estimate", "--gpus", "many"}, "--gpus");
    expect_refused({"export"}, "needs one of deepspeed");
    expect_refused({"import", "hf"}, "CONFIG");
    expect_refused({"stop"}, "RUN");
    expect_refused({"watch", "--once", "--follow"}, "excludes");
}

/// Commands of every kind, and how each ends.
const std::vector<std::pair<std::string, int>> kinds_of_commands{{"--help", 0},
                                                                 {"train --help", 0},
                                                                 {"--version", 0},
                                                                 {"presets", 0},
                                                                 {"schema", 0},
                                                                 {"machine", 0},
                                                                 {"lessons", 0},
                                                                 {"estimate llama-7b", 0},
                                                                 {"estimate llama-7b --json", 0},
                                                                 {"pipeline llama-7b --set layout.pp=4", 0},
                                                                 {"plan llama-7b --gpus 8", 0},
                                                                 {"doctor cpu-demo", 0},
                                                                 {"export deepspeed llama-7b-4xa100", 0},
                                                                 {"runs --json", 0},
                                                                 {"estimat", 2},
                                                                 {"estimate no-such-plan", 2},
                                                                 {"stop no-such-run", 2}};

/// The exit code that a shell sees.
int shell(const std::string& command) {
    return WEXITSTATUS(
        std::system(("bash -c 'set -o pipefail; " PLIMSOLL_BIN_DIR "/plimsoll " + command + "'").c_str()));
}

TEST_F(UsageTest, OutputThatCannotBeWrittenIsAnErrorThatNamesThePlace) {
    for (const auto& [command, code] : kinds_of_commands) {
        if (code != 0) continue;
        EXPECT_EQ(shell(command + " > /dev/full 2> " + path("err")), 1) << command;
        EXPECT_THAT(contents_of(folder / "err"), HasSubstr("cannot write /dev/full: No space left on device"))
            << command;
        EXPECT_EQ(shell(command + " >&- 2> " + path("err")), 1) << command;
        EXPECT_THAT(contents_of(folder / "err"), HasSubstr("the output is not whole: standard output is closed"))
            << command;
    }
}

TEST_F(UsageTest, StandardErrorWithoutRoomChangesNoExitCode) {
    for (const auto& [command, code] : kinds_of_commands) {
        EXPECT_EQ(shell(command + " > /dev/null 2> /dev/full"), code) << command;
        EXPECT_EQ(shell(command + " > /dev/null 2>&-"), code) << command;
    }
}

TEST_F(UsageTest, ReaderThatHasEnoughIsNoError) {
    for (const auto& [command, code] : kinds_of_commands) {
        if (code != 0) continue;
        EXPECT_EQ(shell(command + " 2> " + path("err") + " | head -0"), 0) << command;
        EXPECT_EQ(contents_of(folder / "err").find("cannot write"), std::string::npos) << command;
    }
}

TEST_F(UsageTest, NoEscapeSequencesWhereThereIsNoTerminal) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"estimate", "llama-7b"}, {"presets"}, {"runs"}, {"machine"}}) {
        const Output output = plimsoll(command);
        EXPECT_EQ(output.code, 0);
        EXPECT_EQ(output.out.find('\x1b'), std::string::npos) << command[0];
    }
}

TEST_F(UsageTest, PresetsSchemaAndMachineTellWhatThereIs) {
    const Output presets = plimsoll({"presets"});
    EXPECT_THAT(presets.out, HasSubstr("cpu-demo"));
    // transformers' own count, as in the oracles of the plan tests
    EXPECT_THAT(presets.out, ::testing::ContainsRegex("llama-7b +6,738,415,616 parameters"));
    EXPECT_THAT(presets.out, HasSubstr("A100 SXM4 80GB"));
    const Json schema = json_of(plimsoll({"schema"}));
    EXPECT_EQ(schema.value("$schema", ""), "https://json-schema.org/draft/2020-12/schema");
    EXPECT_TRUE(schema["properties"].contains("layout"));
    const Json machine = json_of(plimsoll({"machine", "--json"}));
    EXPECT_GE(machine["cores"], 1);
    EXPECT_GT(machine["ram_bytes"], machine["ram_available_bytes"]);
}

}  // namespace
}  // namespace plimsoll
