// SPDX-License-Identifier: Apache-2.0
// Estimates against peaks that others measured: the figures that Plimsoll promises. Each bound is the measured value
// and about a tenth.
#include <gmock/gmock.h>

#include <fstream>

#include "core/base/file.h"
#include "core/validation/check_peaks.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::vector<PeakRow> rows_of(const std::string& name) {
    const auto text = read_file(std::string(PLIMSOLL_SOURCE_DIR "/resources/validation/") + name);
    const auto table = text ? read_csv(*text) : tl::unexpected(text.error());
    auto rows = table ? read_peak_rows(*table) : tl::unexpected(table.error());
    EXPECT_TRUE(rows) << rows.error().message;
    return rows ? *std::move(rows) : std::vector<PeakRow>{};
}

TEST(PublishedPeaks, MegatronsGoldenPeaks) {
    const auto summary = summarize(check_peaks(rows_of("megatron-golden-peaks.csv")));
    EXPECT_EQ(summary.rows, 512u);
    EXPECT_GE(summary.estimated, 492u);
    EXPECT_LE(summary.mean_error, 0.034);
    EXPECT_LE(summary.median_error, 0.0111);
    EXPECT_GE(summary.within_10, 0.90);  // of all rows: one without an estimate is a miss
    EXPECT_GE(summary.inside, 0.955);
    EXPECT_EQ(summary.over, 0u);
}

TEST(PublishedPeaks, MeasuredWithHighConfidence) {
    auto rows = rows_of("measured-peaks.csv");
    std::erase_if(rows,
                  [](const PeakRow& row) { return row.kind != "measured" || !row.confidence.starts_with("high"); });
    const auto summary = summarize(check_peaks(rows));
    EXPECT_EQ(summary.estimated, rows.size());
    EXPECT_LE(summary.mean_error, 0.0266);
    EXPECT_LE(summary.median_error, 0.0214);
    EXPECT_GE(summary.inside, 0.98);
    EXPECT_EQ(summary.over, 0u);
}

TEST(PublishedPeaks, EveryErrorOverFivePercentHasItsCause) {
    for (const auto& check : check_peaks(rows_of("megatron-golden-peaks.csv")))
        if (!check.predicted || std::abs(check.error) > 0.05)
            EXPECT_FALSE(check.cause.empty()) << check.row.name;
        else
            EXPECT_TRUE(check.cause.empty()) << check.row.name;
}

TEST(PublishedPeaks, CardsByTheirNames) {
    EXPECT_EQ(capacity_of("H100 96GB HBM2e"), 96 * GB);
    EXPECT_EQ(capacity_of("B200 (178.4 GiB)"), static_cast<Bytes>(178.4 * GiB));
    EXPECT_EQ(capacity_of("dev_dgx_gb200_2nd"), 192 * GB);
    EXPECT_EQ(capacity_of("lts_dgx_a100"), 80 * GB);
    EXPECT_EQ(capacity_of("dev"), 0);
}

Result<std::vector<PeakRow>> rows_from(const std::string& csv) {
    PLIMSOLL_TRY(const auto table, read_csv(csv));
    return read_peak_rows(table);
}

TEST(PublishedPeaks, ATableOfOnesOwnIsTakenByEitherFilesColumns) {
    const auto golden = rows_from(
        "suite,case,platform,peak_alloc_bytes,num-layers,hidden-size,num-attention-heads,seq-length,micro-batch-size,"
        "bf16,world-size,use-distributed-optimizer\n"
        "gpt,mine,h100,5000000000,12,768,12,1024,4,True,2,True\n");
    ASSERT_TRUE(golden) << golden.error().message;
    EXPECT_EQ(golden->at(0).work.layout.dp, 2);
    EXPECT_EQ(golden->at(0).work.layout.zero_stage, 1);
    const auto published = rows_from(
        "id,model,layers,hidden,heads,kv_heads,ffn,vocab,seq,precision,micro_batch,dp,sharding,tp,pp,cp,ep,"
        "checkpointing,attention,compile,gpus,peak,unit,metric,kind,confidence,source\n"
        "X1,Llama-3-8B,32,4096,32,8,14336,128256,8192,bf16,1,8,FSDP2,1,1,1,1,full,SDPA,no,8,40,GiB,torch "
        "max_reserved,measured,high,torchtitan PR 900\n");
    ASSERT_TRUE(published) << published.error().message;
    EXPECT_EQ(published->at(0).truth, 40 * GiB);
    EXPECT_EQ(published->at(0).metric, PeakMetric::Reserved);
    EXPECT_EQ(published->at(0).framework, Framework::TorchTitan);
}

TEST(PublishedPeaks, BadTablesAreRefusedWithTheLineAndTheCure) {
    const auto problem = [](const std::string& csv) {
        const auto rows = rows_from(csv);
        return rows ? std::string() : rows.error().message;
    };
    EXPECT_THAT(problem("a,b\n1,2\n"), HasSubstr("the first line must name"));
    EXPECT_THAT(problem("peak_alloc_bytes,num-layers\n5,twelve\n"), HasSubstr("line 2: num-layers is \"twelve\""));
    EXPECT_THAT(problem("peak_alloc_bytes,num-layers\n,12\n"), HasSubstr("peak_alloc_bytes must be a positive number"));
    const std::string columns = "model,layers,hidden,heads,vocab,seq,micro_batch,peak,unit,source\n";
    EXPECT_THAT(problem(columns + "x,2,64,4,100,8,1,5,furlongs,torchtitan\n"), HasSubstr("unit is \"furlongs\""));
    EXPECT_THAT(problem(columns + "x,2,64,4,100,8,1,-5,GiB,torchtitan\n"), HasSubstr("peak is \"-5\""));
}

TEST(PublishedPeaks, AbsurdSizesNeverWrap) {
    const auto rows = rows_from(
        "suite,case,platform,peak_alloc_bytes,num-layers,hidden-size,num-attention-heads,seq-length,micro-batch-size\n"
        "gpt,mine,h100,5000000000,1000000000000,1000000000000,1,1000000000000,1000000000000\n");
    ASSERT_TRUE(rows) << rows.error().message;
    const auto checks = check_peaks(*rows);
    EXPECT_GT(*checks[0].predicted, 1'000'000 * GiB);
}

}  // namespace
}  // namespace plimsoll
