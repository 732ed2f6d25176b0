// SPDX-License-Identifier: Apache-2.0
// Run folders of others, attacked through the program: nothing outside of them is written, and no text of theirs steers
// the terminal.
#include "core/run/run_folder.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class HostileRunTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        use_fake_worker();
        ::setenv("FAKE_RANKS", "ok", 1);
        put_contents(folder / "precious", "mine");
    }

    RunFolder trained(const std::vector<std::string>& settings = {}) {
        std::vector<std::string> arguments{"train", "--data", path("corpus.txt"), "--run", path("run"), "--steps", "2"};
        for (const std::string& each : settings) arguments.insert(arguments.end(), {"--set", each});
        const Output output = plimsoll(arguments);
        EXPECT_EQ(output.code, 0) << output.err;
        return RunFolder(folder / "run");
    }
};

TEST_F(HostileRunTest, NoFileOfItLeadsOutside) {
    const RunLayout run = trained().layout();
    for (const fs::path& file : {run.log(0), run.state(), run.plan(), run.control(), run.record(0), run.store_log()}) {
        // What the link leads to holds what belongs there, so that reading it gives no reason to stop.
        const bool there = fs::exists(file);
        if (there) fs::rename(file, folder / "outside");
        const std::string before = contents_of(folder / "outside");
        fs::create_symlink(folder / "outside", file);
        expect_refused({"train", "--resume", "--run", path("run"), "--steps", "3"}, "symbolic link");
        EXPECT_EQ(contents_of(folder / "outside"), before) << file;
        EXPECT_EQ(fs::exists(folder / "outside"), there) << file;
        fs::remove(file);
        if (there) fs::rename(folder / "outside", file);
    }
    EXPECT_EQ(plimsoll({"train", "--resume", "--run", path("run"), "--steps", "3"}).code, 0);
}

TEST_F(HostileRunTest, SharedFilesAreNotWritten) {
    const RunLayout run = trained().layout();
    const fs::path log = run.log(1);
    fs::remove(log);
    fs::create_hard_link(folder / "precious", log);
    expect_refused({"train", "--resume", "--run", path("run"), "--steps", "3"}, "second name");
    EXPECT_EQ(contents_of(folder / "precious"), "mine");
    fs::remove(log);
    fs::permissions(run.plan(), fs::perms::others_write, fs::perm_options::add);
    expect_refused({"train", "--resume", "--run", path("run"), "--steps", "3"}, "chmod -R o-w");
}

TEST_F(HostileRunTest, TextOfItSteersNoTerminal) {
    const std::string escape = "\x1b]0;title\x07\x1b[31m", c1 = "\xC2\x9B", bidi = "\xE2\x80\xAE";
    trained({"name=" + escape + c1 + bidi, "model.name=" + escape + c1 + bidi});
    fs::rename(folder / "run", folder / ("run" + escape));
    const std::string run = path("run" + escape);
    for (const std::vector<std::string>& command : {std::vector<std::string>{"watch", "--once", run},
                                                    {"doctor", run},
                                                    {"records", run},
                                                    {"records", run, "--json"},
                                                    {"estimate", run + "/plan.json"},
                                                    {"runs"},
                                                    {"train", "--resume", "--run", run, "--steps", "3"}}) {
        const Output output = plimsoll(command);
        for (const std::string& text : {output.out, output.err}) {
            for (const std::string& bad : {std::string("\x1b"), std::string("\x07"), c1, bidi})
                EXPECT_THAT(text, Not(HasSubstr(bad))) << command[0];
        }
        EXPECT_NE(output.out + output.err, "") << command[0];
    }
}

}  // namespace
}  // namespace plimsoll
