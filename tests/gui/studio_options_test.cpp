// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of the real plimsoll-studio.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/support/temp_folder.h"
#include "ui/window/navigation.h"

namespace plimsoll::ui {
namespace {

struct Ended {
    int code;
    std::string out, err;
};

Ended studio(const std::string& arguments) {
    const TempFolder folder;
    const std::string line =
        fmt::format("XDG_CONFIG_HOME={0} PLIMSOLL_RUNS={0}/runs {1}/plimsoll-studio {2} > {0}/out 2> {0}/err",
                    folder.path().string(), PLIMSOLL_BIN_DIR, arguments);
    const int code = std::system(line.c_str());
    return {WEXITSTATUS(code), contents_of(folder / "out"), contents_of(folder / "err")};
}

TEST(StudioOptions, EveryPageCanBeNamed) {
    const Ended help = studio("--help");
    EXPECT_EQ(help.code, 0);
    for (const QString& page : pageNames()) {
        EXPECT_THAT(help.out, ::testing::HasSubstr(page.toStdString()));
        EXPECT_TRUE(pageByName(page).has_value()) << page.toStdString();
    }
    EXPECT_EQ(pageNames().size(), pageCount);
}

TEST(StudioOptions, BadInputIsOneSentenceAndExitCodeTwo) {
    for (const std::string arguments :
         {"--page nowhere", "--no-such", "--width many", "no-such-plan --screenshot-dir pictures"}) {
        const Ended refused = studio(arguments);
        EXPECT_EQ(refused.code, 2) << arguments;
        EXPECT_THAT(refused.err, ::testing::StartsWith("plimsoll-studio: ")) << arguments;
        EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    }
    EXPECT_FALSE(std::filesystem::exists("pictures"));
}

}  // namespace
}  // namespace plimsoll::ui
