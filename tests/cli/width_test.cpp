// SPDX-License-Identifier: Apache-2.0
// Every command's text keeps within the terminal, from 50 columns up.
#include <sstream>

#include "core/base/printable.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

class WidthTest : public CliTest {
protected:
    ~WidthTest() override { ::unsetenv("COLUMNS"); }

    Output at(int columns, const std::vector<std::string>& arguments) {
        ::setenv("COLUMNS", std::to_string(columns).c_str(), 1);
        return plimsoll(arguments);
    }
};

std::size_t columns_of(const std::string& line) {
    std::size_t columns = 0;
    for (std::size_t at = 0; at < line.size(); ++columns) at += code_point(line, at).value_or(CodePoint{0, 1}).bytes;
    return columns;
}

/// Lines that are wider, but for a single word (a path, a formula), which stays whole.
std::vector<std::string> wider_than(std::size_t columns, const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
        if (columns_of(line) > columns && line.find(' ', begin) != std::string::npos) lines.push_back(line);
    }
    return lines;
}

const std::vector<std::vector<std::string>>& commands() {
    static const std::vector<std::vector<std::string>> all{
        {"estimate", "llama-7b-4xa100"},
        {"estimate", "llama-7b", "--gpu", "RTX 4090", "--gpus", "1", "--sources"},
        {"estimate", "cpu-demo", "--framework", "deepspeed"},
        {"plan", "llama-2-70b", "--gpu", "H100 SXM", "--gpus", "64"},
        {"pipeline", "llama-7b-4xa100", "--set", "layout.pp=4", "--set", "layout.dp=1"},
        {"presets"},
        {"machine"},
        {"lessons"},
        {"doctor", "llama-7b-4xa100"},
        {"runs"},
        {"validate", "memory", PLIMSOLL_SOURCE_DIR "/resources/validation/measured-peaks.csv", "--misses"}};
    return all;
}

TEST_F(WidthTest, TextsFollowTheTerminal) {
    for (const auto& command : commands()) {
        for (const int columns : {50, 61, 80, 120}) {
            const Output shown = at(columns, command);
            EXPECT_FALSE(shown.out.empty()) << ::testing::PrintToString(command) << shown.err;
            EXPECT_THAT(wider_than(static_cast<std::size_t>(columns), shown.out), ::testing::IsEmpty())
                << ::testing::PrintToString(command) << " at " << columns;
        }
    }
}

TEST_F(WidthTest, HelpFollowsTheTerminal) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{},
                                                                                         {"estimate"},
                                                                                         {"plan"},
                                                                                         {"train"},
                                                                                         {"watch"},
                                                                                         {"lint"},
                                                                                         {"export", "deepspeed"},
                                                                                         {"import", "hf"},
                                                                                         {"bench", "optimizers"},
                                                                                         {"validate", "memory"}}) {
        for (const int columns : {50, 80}) {
            auto help = command;
            help.emplace_back("--help");
            EXPECT_THAT(wider_than(static_cast<std::size_t>(columns), at(columns, help).out), ::testing::IsEmpty())
                << ::testing::PrintToString(command) << " at " << columns;
        }
    }
}

TEST_F(WidthTest, NothingIsLostWhereLinesBreak) {
    const auto words = [](const std::string& text) {
        std::istringstream in(text);
        std::vector<std::string> all;
        for (std::string word; in >> word;) all.push_back(word);
        return all;
    };
    for (const auto& command : std::vector<std::vector<std::string>>{{"presets"}, {"lessons"}, {"doctor", "cpu-demo"}})
        EXPECT_EQ(words(at(50, command).out), words(at(300, command).out)) << ::testing::PrintToString(command);
}

TEST_F(WidthTest, JsonAndFilesAreNeverBroken) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"estimate", "cpu-demo", "--json"},
                                               {"schema"},
                                               {"presets", "--json"},
                                               {"export", "deepspeed", "llama-7b"}}) {
        const Output narrow = at(50, command), wide = at(300, command);
        EXPECT_EQ(narrow.out, wide.out) << ::testing::PrintToString(command);
        EXPECT_TRUE(parse_json(narrow.out, "output")) << ::testing::PrintToString(command);
    }
}

}  // namespace
}  // namespace plimsoll
