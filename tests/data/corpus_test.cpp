// SPDX-License-Identifier: Apache-2.0
#include "core/data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CorpusTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "plimsoll-corpus-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override {
        ::unsetenv("PLIMSOLL_CORPUS");
        fs::remove_all(folder_);
    }

    std::string write(const std::string& name, const std::string& text) {
        const fs::path path = folder_ / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

    static Data data(const std::string& path, std::int64_t sequence_length = 8, double validation = 0) {
        Data d;
        d.path = path;
        d.sequence_length = sequence_length;
        d.validation_fraction = validation;
        return d;
    }

    static std::string error_of(const Data& d) {
        const auto corpus = load_corpus(d);
        if (corpus) return "no error";
        EXPECT_EQ(corpus.error().kind, Error::Kind::BadInput);
        const auto beginning = read_corpus_beginning(d, 64);
        EXPECT_EQ(beginning ? "no error" : beginning.error().message, corpus.error().message);
        return corpus.error().message;
    }

    fs::path folder_;
};

TEST_F(CorpusTest, FileIsReadByteForByte) {
    const std::string text = "caf\xc3\xa9\r\n\xff\x01 and more text";  // not UTF-8, and still text
    const auto corpus = load_corpus(data(write("a.dat", text)));
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_EQ(corpus->text, text);
    EXPECT_EQ(corpus->documents, 1U);
    EXPECT_EQ(corpus->name, "a.dat");
    EXPECT_EQ(corpus->train_size, text.size());
}

TEST_F(CorpusTest, FolderJoinsItsTextFilesInNameOrder) {
    write("b.md", "second");
    write("a.txt", "first");
    write("c/deep.text", "third");
    write("empty.txt", "");
    write("image.png", std::string("\0\1", 2));
    write(".hidden.txt", "no");
    write(".git/notes.txt", "no");
    for (const std::string& path : {folder_.string(), folder_.string() + "/"}) {
        const auto corpus = load_corpus(data(path));
        ASSERT_TRUE(corpus) << corpus.error().message;
        EXPECT_EQ(corpus->text, "first\nsecond\nthird");
        EXPECT_EQ(corpus->documents, 3U);
        EXPECT_EQ(corpus->name, folder_.filename().string());
    }
}

TEST_F(CorpusTest, ValidationTakesTheEndOfTheText) {
    const auto corpus = load_corpus(data(write("a.txt", std::string(1000, 'x')), 8, 0.05));
    ASSERT_TRUE(corpus);
    EXPECT_EQ(corpus->train_size, 950U);
}

TEST_F(CorpusTest, ValidationShorterThanOneSequenceIsLeftToTraining) {
    const std::string path = write("a.txt", std::string(1000, 'x'));
    EXPECT_EQ(load_corpus(data(path, 49, 0.05))->train_size, 950U) << "50 bytes are one window of 49 + 1";
    EXPECT_EQ(load_corpus(data(path, 50, 0.05))->train_size, 1000U);
    EXPECT_EQ(load_corpus(data(path, 499, 0.5))->train_size, 500U);
    EXPECT_EQ(load_corpus(data(path, 500, 0.5))->train_size, 1000U);
    EXPECT_EQ(load_corpus(data(path, 8, 0.0))->train_size, 1000U);
}

TEST_F(CorpusTest, MissingPathSaysWhatMayBeGiven) {
    const std::string path = folder_ / "nothing";
    EXPECT_THAT(error_of(data(path)), AllOf(HasSubstr(path), HasSubstr("data.path"), HasSubstr("bible-kjv")));
    EXPECT_THAT(error_of(data("")), HasSubstr("data.path is empty"));
}

TEST_F(CorpusTest, UnreadableTextNamesTheCause) {
    const fs::path loop = folder_ / "loop.txt";
    fs::create_symlink(loop, loop);
    EXPECT_THAT(error_of(data(loop)), AllOf(HasSubstr(loop.string()), HasSubstr("Too many levels")));

    const fs::path broken = folder_ / "folder/broken.txt";
    write("folder/good.txt", "some good text");
    fs::create_symlink(folder_ / "gone", broken);
    EXPECT_THAT(error_of(data(folder_ / "folder")), AllOf(HasSubstr(broken.string()), HasSubstr("No such file")));

    if (::geteuid() != 0) {  // root reads everything
        const std::string locked = write("locked.txt", "some good text");
        fs::permissions(locked, fs::perms::none);
        EXPECT_THAT(error_of(data(locked)), AllOf(HasSubstr(locked), HasSubstr("Permission denied")));
    }
}

TEST_F(CorpusTest, PipeIsRefusedAndDoesNotHang) {
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(error_of(data(pipe)), HasSubstr("not a regular file"));
}

TEST_F(CorpusTest, FolderWithoutTextSaysWhichEndingsCount) {
    write("data.csv", "1,2,3");
    EXPECT_THAT(error_of(data(folder_)), AllOf(HasSubstr(folder_.string()), HasSubstr(".txt, .md or .text")));
}

TEST_F(CorpusTest, BinaryFileIsNamedWithThePlaceOfItsNul) {
    write("a.txt", "good text");
    const std::string bad = write("b.txt", std::string("bad\0text", 8));
    EXPECT_THAT(error_of(data(folder_)), AllOf(StartsWith(bad), HasSubstr("byte 3 is NUL"), HasSubstr("UTF-8")));
}

TEST_F(CorpusTest, EmptyTextIsRefused) {
    EXPECT_THAT(error_of(data(write("a.txt", ""))), HasSubstr("is empty"));
    EXPECT_THAT(error_of(data(folder_)), HasSubstr("is empty"));
}

TEST_F(CorpusTest, TextShorterThanOneSequenceSaysHowLongItMayBe) {
    const std::string path = write("a.txt", "12345678");
    EXPECT_THAT(error_of(data(path, 8)),
                AllOf(HasSubstr("holds 8 bytes"), HasSubstr("takes 9"), EndsWith("to 7 or less")));
    const auto corpus = load_corpus(data(path, 7, 0.5));
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_EQ(corpus->train_size, 8U);
}

TEST_F(CorpusTest, FileOverTheLimitIsRefusedUnread) {
    const std::string path = write("big.txt", "x");
    fs::resize_file(path, static_cast<std::uintmax_t>(corpus_limit) + 1);  // a hole: takes no room on disk
    EXPECT_THAT(error_of(data(path)), AllOf(StartsWith(path), HasSubstr("4.00 GiB")));
}

TEST_F(CorpusTest, BeginningIsThatOfTheLoadedTextWithItsFacts) {
    write("b.md", "second");
    write("a.txt", "first");
    write("c/deep.text", "third, which is longer");
    write("empty.txt", "");
    const auto whole = load_corpus(data(folder_, 8, 0.4));
    ASSERT_TRUE(whole) << whole.error().message;
    for (const Bytes most : {0, 1, 5, 6, 7, 12, 13, 20, 34, 35, 36, 1000}) {
        const auto beginning = read_corpus_beginning(data(folder_, 8, 0.4), most);
        ASSERT_TRUE(beginning) << beginning.error().message;
        EXPECT_EQ(beginning->text, whole->text.substr(0, static_cast<std::size_t>(most))) << most;
        EXPECT_EQ(beginning->size, static_cast<Bytes>(whole->text.size()));
        EXPECT_EQ(beginning->documents, whole->documents);
        EXPECT_EQ(beginning->name, whole->name);
        EXPECT_EQ(beginning->train_size, whole->train_size);
    }
    EXPECT_LT(whole->train_size, whole->text.size()) << "the parts are those of the whole text";
}

TEST_F(CorpusTest, BeginningOfAVastFileReadsNoMore) {
    const std::string path = write("vast.txt", std::string(100, 'x'));
    fs::resize_file(path, static_cast<std::uintmax_t>(corpus_limit));  // a hole of NULs, which no load would take
    const auto beginning = read_corpus_beginning(data(path, 8, 0.25), 100);
    ASSERT_TRUE(beginning) << beginning.error().message;
    EXPECT_EQ(beginning->text, std::string(100, 'x'));
    EXPECT_EQ(beginning->size, corpus_limit);
    EXPECT_EQ(beginning->train_size, static_cast<std::size_t>(corpus_limit / 4 * 3));
}

TEST_F(CorpusTest, BundledCorpusIsFoundWhereTheVariablePoints) {
    write("bible-kjv.txt", "In the beginning God created");
    ::setenv("PLIMSOLL_CORPUS", folder_.c_str(), 1);
    const auto corpus = load_corpus(data("bible-kjv"));
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_EQ(corpus->text, "In the beginning God created");
    EXPECT_EQ(corpus->name, "bible-kjv");
}

TEST_F(CorpusTest, VariableThatPointsNowhereIsAnError) {
    ::setenv("PLIMSOLL_CORPUS", folder_.c_str(), 1);
    EXPECT_THAT(error_of(data("bible-kjv")), AllOf(HasSubstr("PLIMSOLL_CORPUS"), HasSubstr(folder_.string())));
}

TEST_F(CorpusTest, UnknownBundledCorpusNamesTheNearest) {
    const auto path = bundled_corpus("bible-kvj");
    ASSERT_FALSE(path);
    EXPECT_THAT(path.error().message, HasSubstr("did you mean \"bible-kjv\""));
}

TEST_F(CorpusTest, BibleOfTheSetUpIsWholeAndClean) {
    const auto corpus = load_corpus(data("bible-kjv", 128, 0.05));
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_THAT(corpus->text,
                StartsWith("Genesis 1\n\nIn the beginning God created the heaven and the earth.\nAnd the"));
    EXPECT_THAT(corpus->text, EndsWith("The grace of our Lord Jesus Christ be with you all. Amen.\n"));
    EXPECT_THAT(corpus->text, HasSubstr("\n\n1 Samuel 1\n\n"));
    // 31102 verses, 1189 headings, a blank line on either side of each heading but the first
    EXPECT_EQ(std::ranges::count(corpus->text, '\n'), 31102 + 1189 * 3 - 1);
    EXPECT_EQ(corpus->text.find("  "), std::string::npos);
    EXPECT_TRUE(std::ranges::all_of(corpus->text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    EXPECT_EQ(corpus->train_size, corpus->text.size() - corpus->text.size() / 20);
}

}  // namespace
}  // namespace plimsoll
