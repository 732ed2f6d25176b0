// SPDX-License-Identifier: Apache-2.0
// What is read may be hostile: from thousands of damaged inputs every reader gives a result or one sentence, and takes
// no more memory than a small file is worth. PLIMSOLL_MUTATIONS says how many of each kind; the sanitizers see the
// rest.
#include "tests/fuzz/mutation.h"
#include "core/base/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/checkpoint/checkpoint_state.h"
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/deepspeed/deepspeed_import.h"
#include "core/interop/deepspeed/facts/deepspeed_release.h"
#include "core/interop/deepspeed/facts/relaxed_json.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"
#include "core/interop/deepspeed/process_config.h"
#include "core/interop/exports/export_target.h"
#include "core/interop/model_files/gguf_model.h"
#include "core/interop/model_files/hf_folder.h"
#include "core/interop/model_files/safetensors_counts.h"
#include "core/interop/records/records_export.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/telemetry/reader.h"
#include "core/telemetry/writer.h"
#include "tests/fuzz/largest_allocation.h"
#include "tests/support/random_plans.h"
#include "tests/support/some_checkpoint.h"
#include "tests/support/some_gguf.h"

namespace plimsoll {
namespace {

constexpr std::size_t most_memory = std::size_t{256} << 20;

int rounds(int usual) {
    const char* asked = std::getenv("PLIMSOLL_MUTATIONS");
    return asked ? std::atoi(asked) : usual;
}

/// Whether an error is a sentence for a person: not empty, short, and UTF-8 (Python takes no other; what a hostile file
/// put into it otherwise, the terminal escapes).
void expect_sentence(const Error& error) {
    EXPECT_GT(error.message.size(), 10U) << error.message;
    EXPECT_LT(error.message.size(), 2000U) << error.message;
    EXPECT_TRUE(valid_utf8(error.message)) << error.message;
}

class MutationTest : public ::testing::Test {
protected:
    void SetUp() override { forget_allocations(); }
    void TearDown() override { EXPECT_LT(largest_allocation(), most_memory); }

    template <class T>
    bool fine(const Result<T>& result) {
        ++read_;
        if (result) return true;
        expect_sentence(result.error());
        ++refused_;
        return false;
    }
    /// That the mutations did not all do nothing, nor all the same.
    void expect_both_ends() const {
        EXPECT_GT(refused_, read_ / 50);
        EXPECT_LT(refused_, read_);
    }

    TempFolder folder;

private:
    int read_ = 0, refused_ = 0;
};

TEST_F(MutationTest, Gguf) {
    Mutations mutations(1);
    const std::vector<std::string> valid{some_llama().bytes(), some_llama(4).bytes()};
    for (int i = 0; i < rounds(1500); ++i) {
        std::string bytes = valid[mutations.below(2)];
        // Most of the file are zeros of tensors: what says something comes first.
        std::string head = mutations.of_bytes(bytes.substr(0, 4096));
        put_contents(folder / "a.gguf", head + bytes.substr(std::min<std::size_t>(4096, bytes.size())));
        const auto file = read_gguf(folder / "a.gguf");
        if (fine(file)) fine(model_from_gguf(*file, "a.gguf"));
    }
    expect_both_ends();
}

TEST_F(MutationTest, DeepSpeedConfig) {
    Mutations mutations(2);
    RandomPlans plans(2);
    const std::vector<std::string> releases = deepspeed_releases();
    Plan base;
    base.model = *model_preset("gpt2");
    std::vector<Json> valid;
    for (int i = 0; i < 40; ++i) valid.push_back(export_deepspeed(plans.next())->json);
    valid.push_back({{"train_micro_batch_size_per_gpu", 1},
                     {"elasticity",
                      {{"enabled", true},
                       {"max_train_batch_size", 512},
                       {"micro_batch_sizes", {2, 4}},
                       {"num_gpus_per_node", 8},
                       {"model_parallel_size", 2},
                       {"version", 0.2}}}});
    for (int i = 0; i < rounds(1500); ++i) {
        const std::string text = mutations.of_json(valid[mutations.below(valid.size())]);
        DeepSpeedLaunch launch;
        launch.world = static_cast<std::int64_t>(mutations.below(3)) * 8;
        launch.gpus_per_node = 8;
        launch.parameters = 1000;
        launch.release = releases[mutations.below(releases.size())];
        launch.hugging_face = mutations.below(2) == 0;
        const auto lint = lint_deepspeed(text, "ds.json", launch);
        if (fine(lint)) {
            for (const DeepSpeedFinding& each : lint->findings)
                expect_sentence(Error{each.sentence, Error::Kind::BadInput});
            EXPECT_FALSE(to_json(*lint, launch).dump(-1, ' ', false, Json::error_handler_t::strict).empty());
        }
        const auto document = parse_relaxed_json(text, "ds.json");
        if (!fine(document)) continue;
        const auto imported = import_deepspeed(document->json, base, "ds.json");
        if (fine(imported) && check_plan(imported->plan).empty()) fine(export_deepspeed(imported->plan));
    }
    expect_both_ends();
}

TEST_F(MutationTest, PlanAndItsExports) {
    Mutations mutations(3);
    RandomPlans plans(3);
    std::vector<Json> valid;
    for (int i = 0; i < 30; ++i) valid.push_back(to_json(plans.next()));
    for (const std::string& name : plan_preset_names()) valid.push_back(to_json(*plan_preset(name)));
    for (int i = 0; i < rounds(1500); ++i) {
        const auto document = parse_json(mutations.of_json(valid[mutations.below(valid.size())]), "plan.json");
        if (!fine(document)) continue;
        const auto loaded = plan_from_json(*document, "plan.json");
        if (!fine(loaded)) continue;
        for (const Problem& problem : check_plan(loaded->plan))
            expect_sentence(Error{problem.sentence, Error::Kind::BadInput});
        const ExportTarget& target = export_targets()[mutations.below(export_targets().size())];
        fine(export_plan(loaded->plan, target.name));
    }
    expect_both_ends();
}

TEST_F(MutationTest, HuggingFaceConfig) {
    Mutations mutations(4);
    const std::vector<Json> valid{{{"model_type", "llama"},
                                   {"hidden_size", 64},
                                   {"num_hidden_layers", 2},
                                   {"num_attention_heads", 4},
                                   {"num_key_value_heads", 2},
                                   {"intermediate_size", 160},
                                   {"vocab_size", 96},
                                   {"max_position_embeddings", 128},
                                   {"rms_norm_eps", 1e-5},
                                   {"rope_theta", 10000.0},
                                   {"tie_word_embeddings", false}},
                                  {{"model_type", "gpt2"},
                                   {"n_embd", 64},
                                   {"n_layer", 2},
                                   {"n_head", 4},
                                   {"vocab_size", 96},
                                   {"n_positions", 64}},
                                  {{"model_type", "mixtral"},
                                   {"hidden_size", 64},
                                   {"num_hidden_layers", 2},
                                   {"num_attention_heads", 4},
                                   {"num_key_value_heads", 2},
                                   {"intermediate_size", 160},
                                   {"vocab_size", 96},
                                   {"num_local_experts", 4},
                                   {"num_experts_per_tok", 2}},
                                  {{"model_type", "t5"},
                                   {"d_model", 64},
                                   {"num_layers", 2},
                                   {"num_heads", 4},
                                   {"d_kv", 16},
                                   {"d_ff", 160},
                                   {"vocab_size", 96}}};
    for (int i = 0; i < rounds(2000); ++i) {
        const auto document = parse_json(mutations.of_json(valid[mutations.below(valid.size())]), "config.json");
        if (!fine(document)) continue;
        const auto model = model_from_hf_config(*document, "config.json");
        if (!fine(model)) continue;
        Plan plan;
        plan.model = *model;
        for (const Problem& problem : check_plan(plan)) expect_sentence(Error{problem.sentence, Error::Kind::BadInput});
    }
    expect_both_ends();
}

TEST_F(MutationTest, SafetensorsAndFolders) {
    Mutations mutations(5);
    put_safetensors(folder / "a.safetensors");
    const std::string valid = contents_of(folder / "a.safetensors");
    const Json index{{"metadata", {{"total_size", 884}}},
                     {"weight_map", {{"a", "a.safetensors"}, {"b", "b.safetensors"}}}};
    std::filesystem::create_directories(folder / "model");
    for (int i = 0; i < rounds(800); ++i) {
        put_contents(folder / "a.safetensors", mutations.of_bytes(valid));
        fine(count_safetensors(folder / "a.safetensors"));
        put_contents(folder / "model/a.safetensors", mutations.below(2) == 0 ? valid : mutations.of_bytes(valid));
        put_contents(folder / "model/b.safetensors", valid);
        put_contents(folder / "model/model.safetensors.index.json", mutations.of_json(index));
        const auto counts = count_safetensors(folder / "model");
        if (fine(counts)) {
            EXPECT_FALSE(to_json(*counts).empty());
        }
    }
    expect_both_ends();
}

TEST_F(MutationTest, CheckpointsToHuggingFace) {
    Mutations mutations(6);
    const auto checkpoint = put_checkpoint(folder / "checkpoints", 7);
    std::vector<std::pair<std::filesystem::path, std::string>> files;
    for (const auto& each : std::filesystem::directory_iterator(checkpoint))
        files.emplace_back(each.path(), contents_of(each.path()));
    std::sort(files.begin(), files.end());
    for (int i = 0; i < rounds(300); ++i) {
        const auto& [path, contents] = files[mutations.below(files.size())];
        put_contents(path, mutations.of_bytes(contents));
        HfFolderOptions options;
        options.shard_size = 500;
        fine(export_hf_folder(checkpoint, folder / "out", options));
        std::filesystem::remove_all(folder / "out");
        put_contents(path, contents);
    }
    expect_both_ends();
}

TEST_F(MutationTest, Records) {
    Mutations mutations(7);
    {
        auto writer = TelemetryWriter::open(folder / "rank-0.rec");
        ASSERT_TRUE(writer);
        for (std::uint64_t step = 0; step < 40; ++step) {
            ASSERT_TRUE(writer->points(step, 1000.0 + static_cast<double>(step),
                                       {{series::loss, 5.0}, {series::grad_norm, 1.0}}));
            if (step % 10 == 0) {
                ASSERT_TRUE(writer->event({step, 1000, EventKind::Checkpoint, "saved", Json::object()}));
            }
        }
    }
    const std::string valid = contents_of(folder / "rank-0.rec");
    for (int i = 0; i < rounds(500); ++i) {
        put_contents(folder / "rank-0.rec", mutations.of_bytes(valid));
        TelemetryReader reader(folder / "rank-0.rec");
        const auto batch = reader.poll();
        if (!fine(batch)) continue;
        SeriesStore store;
        store.apply(*batch);
        std::size_t bytes = 0;
        for (std::size_t format = 0; format < record_format_names.size(); ++format) {
            fine(export_records(store, static_cast<RecordFormat>(format), "run",
                                [&](std::string_view piece) -> Result<void> {
                                    bytes += piece.size();
                                    return {};
                                }));
        }
        EXPECT_LT(bytes, std::size_t{1} << 20);
    }
}

TEST_F(MutationTest, RelaxedJson) {
    Mutations mutations(8);
    const std::string valid =
        "{ // a comment\n \"a\": [1, 2, /* and */ 3,],\n # another\n \"b\": \"// none \\\" here\", }";
    for (int i = 0; i < rounds(3000); ++i) {
        const std::string text = mutations.of_bytes(valid);
        const std::string plain = as_strict_json(text);
        EXPECT_LE(plain.size(), 8 * text.size() + 8) << "a byte becomes an escape at most";
        fine(parse_relaxed_json(text, "ds.json"));
    }
    expect_both_ends();
}

TEST_F(MutationTest, ProcessConfig) {
    Mutations mutations(9);
    const std::string cmdline("python\0train.py\0--deepspeed_config\0conf/ds.json\0--lr\0001\0", 56);
    const std::string environ_("RANK=1\0WORLD_SIZE=16\0MASTER_ADDR=x\0", 35);
    std::filesystem::create_directories(folder / "proc/7");
    std::filesystem::create_directories(folder / "work");
    std::filesystem::create_symlink(folder / "work", folder / "proc/7/cwd");
    for (int i = 0; i < rounds(500); ++i) {
        put_contents(folder / "proc/7/cmdline", mutations.of_bytes(cmdline));
        put_contents(folder / "proc/7/environ", mutations.of_bytes(environ_));
        fine(find_process_config(7, folder / "proc"));
    }
    expect_both_ends();
}

}  // namespace
}  // namespace plimsoll
