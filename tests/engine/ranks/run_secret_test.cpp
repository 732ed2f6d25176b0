// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/run_secret.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <thread>

#include "tests/support/temp_folder.h"

namespace plimsoll::engine {
namespace {

using ::testing::HasSubstr;

struct RunSecretTest : ::testing::Test {
    RunSecretTest() { ::unsetenv(secret_variable); }
    ~RunSecretTest() override { ::unsetenv(secret_variable); }
    TempFolder folder;
    std::filesystem::path file = folder / "secret";
};

TEST_F(RunSecretTest, RankZeroMakesItAndTheOthersWait) {
    std::string other;
    std::thread waiting([&] { other = run_secret(file, 1, 20).value_or(""); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto own = run_secret(file, 0, 1);
    waiting.join();
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_EQ(own->size(), 64U);
    EXPECT_EQ(other, *own);
    struct stat found {};
    ASSERT_EQ(::stat(file.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "nothing lies beside it";
    EXPECT_EQ(run_secret(file, 0, 1).value_or(""), *own) << "a second start takes it up";
    EXPECT_NE(run_secret(folder / "other", 0, 1).value_or(""), *own);
}

TEST_F(RunSecretTest, TheVariableComesFirst) {
    ::setenv(secret_variable, "given", 1);
    EXPECT_EQ(run_secret(file, 3, 0).value_or(""), "given");
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(RunSecretTest, WithoutASharedFolderTheVariableIsNamed) {
    const auto alone = run_secret(file, 1, 0.1);
    ASSERT_FALSE(alone);
    EXPECT_THAT(alone.error().message, HasSubstr("set PLIMSOLL_SECRET to the same random text"));
}

TEST_F(RunSecretTest, AFileThatOthersCanReadOrHaveMadeIsRefused) {
    const auto refused = [&](int rank) {
        const auto secret = run_secret(file, rank, 0.1);
        return secret ? "no error" : secret.error().message;
    };
    put_contents(file, std::string(64, '0'));
    ::chmod(file.c_str(), 0644);
    EXPECT_THAT(refused(0), HasSubstr("you alone can read"));
    EXPECT_THAT(refused(1), HasSubstr("you alone can read"));
    std::filesystem::remove(file);
    put_contents(folder / "elsewhere", std::string(64, '0'));
    ::chmod((folder / "elsewhere").c_str(), 0600);
    std::filesystem::create_symlink(folder / "elsewhere", file);
    EXPECT_THAT(refused(0), HasSubstr("cannot read"));
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_THAT(refused(0), HasSubstr("you alone can read"));
}

}  // namespace
}  // namespace plimsoll::engine
