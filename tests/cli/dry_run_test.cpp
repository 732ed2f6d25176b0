// SPDX-License-Identifier: Apache-2.0
// A dry run beside real runs: the bytes that it names are those that a rank's tensors take in its second step.
#include <cmath>

#include "core/allocator/timeline_file.h"
#include "core/base/json.h"
#include "core/estimate/estimate.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

using Settings = std::vector<std::string>;

const Settings tiny{"model.num_layers=4",      "model.hidden_size=64",      "model.num_heads=4",
                    "model.num_kv_heads=2",    "model.head_dim=0",          "model.ffn_hidden_size=172",
                    "layout.micro_batch=4",    "data.sequence_length=64",   "cluster.gpu=cpu",
                    "training.sample_every=0", "training.validate_every=0", "training.checkpoint_every=0",
                    "lr.warmup_steps=0",       "numerics.attention=flash"};

class DryRunTest : public CliTest {
protected:
    static std::vector<std::string> with(std::vector<std::string> arguments, const Settings& settings) {
        arguments.emplace_back("--set");
        arguments.insert(arguments.end(), tiny.begin(), tiny.end());
        arguments.insert(arguments.end(), settings.begin(), settings.end());
        return arguments;
    }
    Json dry(const Settings& settings, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"dry-run", "cpu-demo", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Output output = plimsoll(with(arguments, settings));
        EXPECT_EQ(output.code, 0) << output.err;
        return output.code == 0 ? json_of(output) : Json();
    }
    Bytes dry_peak(const Settings& settings, int rank, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"--rank", std::to_string(rank)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Json figures = dry(settings, arguments);
        return figures.is_null() ? 0 : figures["ranks"][0]["peak"].get<Bytes>();
    }
};

struct Strategy {
    const char* name;
    int ranks;
    Settings settings;
    double tolerance = 0.005;
    bool on_disk = false;
};

void PrintTo(const Strategy& strategy, std::ostream* out) { *out << strategy.name; }

class DryRunOfStrategy : public DryRunTest, public ::testing::WithParamInterface<Strategy> {};

TEST_P(DryRunOfStrategy, MatchesTheMeasuredPeak) {
    const Strategy& strategy = GetParam();
    Settings settings = strategy.settings;
    settings.push_back("cluster.gpus_per_node=" + std::to_string(strategy.ranks));
    if (strategy.on_disk) settings.push_back("layout.nvme_path=" + folder.path().string());
    const Output trained = plimsoll(
        with({"train", "cpu-demo", "--data", path("corpus.txt"), "--run", path("run"), "--steps", "2"}, settings));
    ASSERT_EQ(trained.code, 0) << trained.out << trained.err << contents_of(folder / "run/logs/rank-0.log");
    for (int rank = 0; rank < strategy.ranks; ++rank) {
        const std::string series = rank == 0 ? "memory_step_peak" : "memory_step_peak@" + std::to_string(rank);
        const Json watched = json_of(plimsoll({"watch", path("run"), "--json", series}));
        ASSERT_EQ(watched["series"][series].size(), 2U);
        const auto measured = watched["series"][series][1][1].get<double>();
        const auto predicted = static_cast<double>(dry_peak(settings, rank));
        EXPECT_LE(std::abs(predicted / measured - 1), strategy.tolerance)
            << "rank " << rank << ": measured " << measured << ", dry run " << predicted;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, DryRunOfStrategy,
    ::testing::Values(
        Strategy{"TensorParallel", 2, {"layout.dp=1", "layout.tp=2"}},
        Strategy{"SequenceParallel",
                 2,
                 {"layout.dp=1", "layout.tp=2", "layout.sequence_parallel=true", "numerics.dtype=bf16"}},
        Strategy{"OneFOneB", 2, {"layout.dp=1", "layout.pp=2", "layout.accumulation=4"}},
        Strategy{"Interleaved",
                 2,
                 {"layout.dp=1", "layout.pp=2", "layout.accumulation=4", "layout.schedule=interleaved-1f1b",
                  "layout.chunks=2"}},
        Strategy{"ZeroBubble", 2, {"layout.dp=1", "layout.pp=2", "layout.accumulation=4", "layout.schedule=zb-h1"}},
        Strategy{"ContextParallel", 2, {"layout.dp=1", "layout.cp=2"}},
        Strategy{
            "ExpertParallel",
            2,
            {"model.family=mixtral", "model.num_experts=4", "model.experts_per_token=2", "layout.dp=2", "layout.ep=2"},
            0.05},
        Strategy{"RecomputeEveryOther", 1, {"layout.dp=1", "layout.recompute=full", "layout.recompute_every=2"}},
        Strategy{"RecomputeTheMlp", 1, {"layout.dp=1", "layout.recompute=mlp"}},
        Strategy{"RecomputeTheMlpOverRanks",
                 2,
                 {"layout.dp=1", "layout.tp=2", "layout.sequence_parallel=true", "layout.recompute=mlp"}},
        Strategy{"CompressedActivations", 1, {"layout.dp=1", "layout.compress_activations=true"}},
        Strategy{"LossInPieces", 1, {"layout.dp=1", "layout.loss_chunks=4", "model.vocab_size=1024"}},
        Strategy{
            "OptimizerOnDisk", 1, {"layout.dp=1", "layout.offload_optimizer=nvme", "layout.zero_stage=1"}, 0.02, true},
        Strategy{"ParametersOnDisk",
                 2,
                 {"layout.dp=2", "layout.offload_parameters=nvme", "layout.zero_stage=3"},
                 0.005,
                 true},
        Strategy{"Autocast", 1, {"layout.dp=1", "numerics.dtype=bf16", "numerics.weights=autocast"}},
        Strategy{"AutocastOfShards",
                 2,
                 {"layout.dp=2", "layout.zero_stage=3", "numerics.dtype=bf16", "numerics.weights=autocast"}},
        Strategy{"AutocastInPieces",
                 2,
                 {"layout.dp=2", "layout.zero_stage=1", "layout.loss_chunks=4", "model.vocab_size=1024",
                  "numerics.dtype=bf16", "numerics.weights=autocast"}},
        Strategy{"PureBf16",
                 1,
                 {"layout.dp=1", "numerics.dtype=bf16", "numerics.weights=pure", "optimizer.state_dtype=bf16"}},
        Strategy{"PureBf16RoundedAtRandom",
                 2,
                 {"layout.dp=2", "layout.zero_stage=2", "numerics.dtype=bf16", "numerics.weights=pure",
                  "numerics.rounding=stochastic", "optimizer.kind=adamw-8bit"}},
        Strategy{"PureBf16WithKahanSums",
                 2,
                 {"layout.dp=2", "layout.zero_stage=3", "numerics.dtype=bf16", "numerics.weights=pure",
                  "numerics.rounding=kahan", "optimizer.state_dtype=bf16"}},
        Strategy{"MomentsInBf16", 1, {"layout.dp=1", "numerics.dtype=bf16", "optimizer.state_dtype=bf16"}},
        Strategy{"Lamb", 1, {"layout.dp=1", "optimizer.kind=lamb"}},
        Strategy{"Sgd", 1, {"layout.dp=1", "optimizer.kind=sgd"}},
        Strategy{"AdamW8bit", 1, {"layout.dp=1", "optimizer.kind=adamw-8bit"}},
        Strategy{"Adafactor", 2, {"layout.dp=2", "optimizer.kind=adafactor", "layout.zero_stage=1"}}),
    [](const auto& strategy) { return std::string(strategy.param.name); });

TEST_F(DryRunTest, FewerMicroBatchesShowTheSamePeakAsAll) {
    const Settings common{"layout.dp=1", "layout.pp=2", "cluster.gpus_per_node=2", "layout.accumulation=12"};
    for (const std::string schedule : {"1f1b", "interleaved-1f1b"}) {
        for (const std::string dtype : {"fp32", "bf16"}) {
            Settings settings = common;
            settings.push_back("layout.schedule=" + schedule);
            settings.push_back("numerics.dtype=" + dtype);
            if (schedule != "1f1b") settings.emplace_back("layout.chunks=2");
            for (int rank = 0; rank < 2; ++rank) {
                EXPECT_EQ(dry_peak(settings, rank), dry_peak(settings, rank, {"--all-micro-batches"}))
                    << schedule << " " << dtype << " rank " << rank;
            }
        }
    }
    const Settings deeper{
        "layout.dp=1",         "layout.pp=4",     "cluster.gpus_per_node=4",         "layout.accumulation=32",
        "model.num_layers=16", "layout.chunks=2", "layout.schedule=interleaved-1f1b"};
    const Json some = dry(deeper, {"--rank", "all"}), all = dry(deeper, {"--rank", "all", "--all-micro-batches"});
    ASSERT_EQ(some["ranks"].size(), 4U);
    for (std::size_t stage = 0; stage < 4; ++stage) {
        EXPECT_LT(some["ranks"][stage]["micro_batches"], all["ranks"][stage]["micro_batches"]);
        EXPECT_EQ(some["ranks"][stage]["peak"], all["ranks"][stage]["peak"]) << stage;
        EXPECT_EQ(some["ranks"][stage]["categories"], all["ranks"][stage]["categories"]) << stage;
    }
    const Settings accumulated{"layout.dp=2", "layout.accumulation=5", "layout.zero_stage=2"};
    EXPECT_EQ(dry_peak(accumulated, 1), dry_peak(accumulated, 1, {"--all-micro-batches"}));
}

TEST_F(DryRunTest, GoesThroughAnyRankOfALargeLayout) {
    const Output output = plimsoll({"dry-run", "llama-3-405b", "--gpu", "h100", "--rank", "16383", "--json", "--set",
                                    "cluster.gpus_per_node=8", "cluster.nodes=2048", "layout.dp=128", "layout.tp=8",
                                    "layout.pp=16", "layout.accumulation=64", "layout.zero_stage=1",
                                    "layout.sequence_parallel=true", "layout.recompute=full"});
    ASSERT_EQ(output.code, 0) << output.err;
    const Json rank = json_of(output)["ranks"][0];
    EXPECT_EQ(rank["stage"], 15);
    EXPECT_GT(rank["peak"].get<Bytes>(), 10 * GiB);
    EXPECT_LT(rank["peak"].get<Bytes>(), 80 * GiB);
    EXPECT_GE(rank["reserved"].get<Bytes>(), rank["allocated"].get<Bytes>());
    EXPECT_GT(rank["estimate"]["reserved"], rank["estimate"]["live"]);
    EXPECT_GT(rank["estimate"]["total"], rank["estimate"]["reserved"]);
    EXPECT_LT(rank["seconds"].get<double>(), 20.0);  // not a benchmark: an unoptimized build on a busy machine passes
}

TEST_F(DryRunTest, WritesMemoryOverTime) {
    const Json figures = dry({"layout.dp=2"}, {"--timeline", path("timeline.json")});
    const auto timeline = read_timeline(path("timeline.json"));
    ASSERT_TRUE(timeline) << timeline.error().message;
    EXPECT_EQ(timeline->peak, figures["ranks"][0]["peak"].get<Bytes>());
    EXPECT_FALSE(timeline->phases.empty());
    EXPECT_FALSE(timeline->standing.empty());
    Bytes standing = 0;
    for (const auto& each : timeline->standing) standing += each.bytes;
    EXPECT_EQ(standing, timeline->peak);
}

TEST(MemoryCategories, AreTheEstimatesOwn) {
    for (std::size_t i = 0; i < memory_categories; ++i) EXPECT_EQ(memory_category_names[i], category_names[i]);
}

TEST_F(DryRunTest, SaysWhatDoesNotFit) {
    const Output output = plimsoll({"dry-run", "llama-7b", "--gpu", "T4", "--set", "numerics.dtype=fp16", "layout.dp=1",
                                    "cluster.nodes=1", "cluster.gpus_per_node=1"});
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("Does not fit"));
    EXPECT_THAT(output.out, HasSubstr("out of memory: tried to allocate"));
}

TEST_F(DryRunTest, SaysWhatReservedAndLiveAre) {
    const Output output = plimsoll({"dry-run", "llama-7b-4xa100"});
    ASSERT_EQ(output.code, 0) << output.err;
    for (const char* part : {" live at the peak", " reserved in ", "Reserved is what", "estimate:"})
        EXPECT_THAT(output.out, HasSubstr(part));
}

TEST_F(DryRunTest, RefusesWhatItCannotRun) {
    const auto refused = [&](const std::vector<std::string>& arguments, const char* why) {
        const Output output = plimsoll(arguments);
        EXPECT_EQ(output.code, 2) << output.err;
        EXPECT_EQ(output.out, "");
        EXPECT_THAT(output.err, HasSubstr(why));
    };
    refused({"dry-run", "cpu-demo", "--rank", "2"}, "--rank is a number from 0 to 1");
    refused({"dry-run", "cpu-demo", "--rank", "-1"}, "--rank");
    refused({"dry-run", "cpu-demo", "--gpu", "H1000"}, "H1000");
    refused({"dry-run", "cpu-demo", "--allocator-settings", "max_split_size_mb:1"}, "max_split_size_mb");
    refused({"dry-run", "t5-11b"}, "encoder-decoder");
    refused({"dry-run", "cpu-demo", "--timeline", "/nowhere/at/all.json"}, "/nowhere/at");
    ::setenv("PLIMSOLL_WORKER", "/nowhere/worker", 1);
    refused({"dry-run", "cpu-demo"}, "needs the engine");
}

}  // namespace
}  // namespace plimsoll
