// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/data_preview.h"

#include "ui/plan/data_words.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

namespace plimsoll::ui {
namespace {

class DataPreviewTest : public testing::Test {
protected:
    Data data(const char* name, const std::string& text) {
        const std::string path = folder_.filePath(QString::fromLatin1(name)).toStdString();
        std::ofstream(path, std::ios::binary) << text;
        Data made;
        made.path = path;
        made.sequence_length = 8;
        made.validation_fraction = 0;
        return made;
    }
    QTemporaryDir folder_;
};

TEST_F(DataPreviewTest, BytesThatAreNoTextAndTooManyEpochsAreDoubted) {
    Plan plan;
    plan.layout.dp = 1;
    plan.layout.micro_batch = 1;
    plan.training.steps = 10;
    std::string bytes;
    for (int i = 0; i < 200; ++i) bytes += static_cast<char>(1 + i * 37 % 255);
    plan.data = data("random.bin", bytes);
    const DataFacts binary = readDataFacts(plan.data, 1);
    EXPECT_TRUE(binary.looksBinary) << binary.problem.toStdString() << binary.beginning.size();
    EXPECT_TRUE(dataDoubts(binary, plan).contains(QStringLiteral("does not look like text")));

    plan.data = data("words.txt", std::string(400, 'w').append("Grüße\n"));
    const DataFacts words = readDataFacts(plan.data, 1);
    EXPECT_FALSE(words.looksBinary);
    EXPECT_EQ(dataDoubts(words, plan), QString());
    plan.training.steps = 100'000;
    EXPECT_TRUE(dataDoubts(words, plan).contains(QStringLiteral("epochs"))) << dataDoubts(words, plan).toStdString();
    plan.layout.micro_batch = 1000;
    EXPECT_TRUE(dataDoubts(words, plan).contains(QStringLiteral("shorter than one global batch")));
}

TEST_F(DataPreviewTest, ShowsTheBeginningOfATextOfAnySize) {
    const Data vast = data("vast.txt", std::string(5000, 'x'));
    const auto size = static_cast<std::uintmax_t>(3) << 30U;
    std::filesystem::resize_file(vast.path, size);  // a hole
    DataPreview preview;
    QSignalSpy changed(&preview, &DataPreview::changed);
    preview.show(vast, 1);
    EXPECT_TRUE(preview.isLoading());
    ASSERT_TRUE(QTest::qWaitFor([&] { return !preview.isLoading(); }, 10'000));
    EXPECT_EQ(changed.count(), 2);
    EXPECT_EQ(preview.facts().problem, QString());
    EXPECT_EQ(preview.facts().bytes, static_cast<qint64>(size));
    EXPECT_EQ(preview.facts().beginning, QString(4000, QLatin1Char('x')));
    EXPECT_EQ(preview.facts().samplesPerEpoch, static_cast<qint64>((size - 1) / 8));
}

TEST_F(DataPreviewTest, ACharacterThatTheCutGoesThroughIsLeftOut) {
    const DataFacts facts = readDataFacts(data("a.txt", fmt::format("{:x<3999}\xc3\xa9 and more", "")), 1);
    EXPECT_EQ(facts.beginning, QString(3999, QLatin1Char('x')));
    EXPECT_EQ(readDataFacts(data("b.txt", fmt::format("{:x<3998}\xc3\xa9", "")), 1).beginning.size(), 3999);
}

TEST_F(DataPreviewTest, OfTwoTextsTheLaterIsShownAndProblemsAreSaid) {
    DataPreview preview;
    Data missing;
    missing.path = folder_.filePath(QStringLiteral("nothing")).toStdString();
    preview.show(missing, 1);
    preview.show(data("text.txt", "some text that is there"), 1);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !preview.isLoading(); }, 10'000));
    EXPECT_EQ(preview.facts().name, QStringLiteral("text.txt"));
    preview.show(missing, 1);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !preview.isLoading(); }, 10'000));
    EXPECT_TRUE(preview.facts().problem.contains(QStringLiteral("There is no")))
        << preview.facts().problem.toStdString();
    EXPECT_EQ(preview.facts().bytes, 0);
}

}  // namespace
}  // namespace plimsoll::ui
