// SPDX-License-Identifier: Apache-2.0
#include <httplib.h>
#include <signal.h>

#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/exports/export_target.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/run/run_folder.h"
#include "core/telemetry/writer.h"
#include "tests/support/program.h"
#include "tests/support/some_checkpoint.h"
#include "tests/support/some_gguf.h"
#include "tests/support/some_torch_file.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InteropTest : public CliTest {};

TEST_F(InteropTest, DeepspeedExportIsCores) {
    const auto plan = plan_from_argument("llama-3-8b-8xh100");
    ASSERT_TRUE(plan);
    const auto exported = export_deepspeed(plan->plan);
    ASSERT_TRUE(exported);
    const Output printed = plimsoll({"export", "deepspeed", "llama-3-8b-8xh100"});
    EXPECT_EQ(json_of(printed), exported->json);
    for (const std::string& note : exported->notes) EXPECT_THAT(printed.err, HasSubstr(note));
    const Output written = plimsoll({"export", "deepspeed", "llama-3-8b-8xh100", "-o", path("ds.json")});
    EXPECT_EQ(written.code, 0) << written.err;
    EXPECT_EQ(written.out, "");
    EXPECT_EQ(*read_json(folder / "ds.json"), exported->json);
}

TEST_F(InteropTest, FailedExportLeavesTheOldFile) {
    put_contents(folder / "ds.json", "the old one");
    EXPECT_EQ(plimsoll({"export", "deepspeed", "cpu-demo", "--set", "layout.dp=7", "-o", path("ds.json")}).code, 2);
    EXPECT_EQ(contents_of(folder / "ds.json"), "the old one");
}

TEST_F(InteropTest, ExportDoesNotOverwriteThePlanItself) {
    ASSERT_TRUE(save_plan(folder / "plan.json", plan_from_argument("cpu-demo")->plan));
    const std::string before = contents_of(folder / "plan.json");
    expect_refused({"export", "deepspeed", path("plan.json"), "-o", path("plan.json")}, "is the plan itself");
    EXPECT_EQ(contents_of(folder / "plan.json"), before);
}

TEST_F(InteropTest, EveryTargetIsACommandAndWritesTheCoresText) {
    for (const ExportTarget& target : export_targets()) {
        const auto exported = export_plan(plan_from_argument("llama-3-8b-8xh100")->plan, target.name);
        ASSERT_TRUE(exported) << exported.error().message;
        const Output written =
            plimsoll({"export", std::string(target.name), "llama-3-8b-8xh100", "-o", path("export")});
        EXPECT_EQ(written.code, 0) << written.err;
        EXPECT_EQ(contents_of(folder / "export"), exported->text) << target.name;
        for (const std::string& note : exported->notes) EXPECT_THAT(written.err, HasSubstr(note));
    }
    EXPECT_EQ(plimsoll({"export", "acelerate"}).code, 2);
}

TEST_F(InteropTest, ExportsAreOnTheHardwareThatIsNamed) {
    const Output written = plimsoll({"export", "megatron", "llama-7b", "--gpu", "h100", "--gpus", "16"});
    EXPECT_EQ(written.code, 0) << written.err;
    EXPECT_THAT(written.out, HasSubstr("torchrun --nnodes=2 --nproc-per-node=8"));
    expect_refused({"export", "megatron", "llama-7b", "--gpu", "h1000"}, "did you mean");
}

TEST_F(InteropTest, ExportsTellWhereTheirToolRunsOutOfMemory) {
    const std::vector<std::string> large{"llama-3-70b", "--gpu", "h100", "--gpus", "8", "--set", "layout.zero_stage=1"};
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(), large.begin(), large.end());
        return plimsoll(words);
    };
    const Output megatron = with({"export", "megatron"});
    EXPECT_EQ(megatron.code, 0) << megatron.err;
    EXPECT_THAT(megatron.err, ::testing::ContainsRegex("note: The plan does not fit under Megatron-LM: .* OOM risk"));
    EXPECT_THAT(with({"export", "torchrun", "--program", "megatron"}).err, HasSubstr("does not fit under Megatron-LM"));
    EXPECT_THAT(with({"export", "torchrun"}).err, Not(HasSubstr("does not fit")));
    expect_refused({"export", "torchrun", "--program", "megatorn"}, "did you mean \"megatron\"?");
    expect_refused({"export", "torchtitan", "qwen2.5-7b", "--gpu", "h100"}, "no biases");
}

TEST_F(InteropTest, UnknownTargetsNameTheNearestAndAll) {
    expect_refused({"export", "acelerate"}, "there is no command \"export acelerate\" (did you mean \"accelerate\"?)");
    expect_refused({"export", "foo"}, "the commands are deepspeed, accelerate");
    expect_refused({"import", "foo"}, "the commands are");
    expect_refused({"validate", "foo"}, "the commands are");
    expect_refused({"export"}, "plimsoll export needs one of deepspeed");
}

TEST_F(InteropTest, LintEndsWithItsVerdict) {
    put_contents(folder / "ds.json", R"({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0})");
    EXPECT_EQ(plimsoll({"lint", path("ds.json"), "--world", "8"}).code, 0);
    put_contents(folder / "ds.json", R"({"train_batch_size": 10})");
    const Output refused = plimsoll({"lint", path("ds.json"), "--world", "8"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.out, HasSubstr("DeepSpeed 0.19.8 refuses it"));
    const Output json = plimsoll({"lint", path("ds.json"), "--world", "8", "--release", "0.16.9", "--json"});
    EXPECT_EQ(json.code, 1);
    EXPECT_EQ(Json::parse(json.out)["accepted"], false);
    put_contents(folder / "ds.json", R"({"train_batch_size": 10 20})");
    expect_refused({"lint", path("ds.json")}, "line 1, column 26");
    expect_refused({"lint", path("none.json")}, "none.json");
    expect_refused({"lint", path("ds.json"), "--release", "1.0"}, "0.19.0 to 0.19.8");
    put_contents(folder / "ds.json", R"({"train_batch_size": 8, "zero_optimization": true})");
    const Output old = plimsoll({"lint", path("ds.json"), "--world", "8", "--release", "0.9.2"});
    EXPECT_EQ(old.code, 0) << "old forms are no trouble";
    EXPECT_THAT(old.out, HasSubstr("deprecated zero_optimization"));
    EXPECT_EQ(plimsoll({"lint", path("ds.json"), "--world", "8", "--release", "0.9.2", "--parameters", "7e9"}).code,
              old.code);
    expect_refused({"lint", path("ds.json"), "--parameters", "0.5"}, "not a whole number from 1");
    expect_refused({"lint"}, "name the file");
    EXPECT_THAT(plimsoll({"lint", "--rules"}).out, HasSubstr("38  overflows without end"));
}

TEST_F(InteropTest, RecordsNeedARunAndAFormat) {
    expect_refused({"records", "no-such-run"}, "no-such-run");
    expect_refused({"records", "latest", "--to", "tensorbord"}, "did you mean \"tensorboard\"?");
}

TEST_F(InteropTest, RecordsGoIntoFilesOfOtherTools) {
    const auto run = RunFolder::create(folder / "run", plan_from_argument("cpu-demo")->plan, false);
    ASSERT_TRUE(run) << run.error().message;
    auto writer = TelemetryWriter::open(run->telemetry_path(0));
    ASSERT_TRUE(writer->points(1, 1000, {{series::loss, 2.5}}));
    for (const char* format : {"tensorboard", "parquet", "wandb"})
        expect_refused({"records", path("run"), "--to", format}, "give one with -o");
    const Output parquet = plimsoll({"records", path("run"), "--to", "parquet", "-o", path("run.parquet")});
    EXPECT_EQ(parquet.code, 0) << parquet.err;
    EXPECT_THAT(contents_of(folder / "run.parquet"),
                ::testing::AllOf(::testing::StartsWith("PAR1"), ::testing::EndsWith("PAR1")));
    const Output wandb = plimsoll({"records", path("run"), "--to", "wandb", "-o", path("offline")});
    EXPECT_EQ(wandb.code, 0) << wandb.err;
    EXPECT_THAT(wandb.out,
                ::testing::ContainsRegex("/offline/offline-run-19700101_001640-[0-9a-z]+/run-[0-9a-z]+.wandb"));
    const std::string log = contents_of(wandb.out.substr(0, wandb.out.size() - 1));
    EXPECT_THAT(log, ::testing::AllOf(::testing::StartsWith(":W&B"), HasSubstr("weight_decay")))
        << "the plan is its config";
    EXPECT_EQ(plimsoll({"records", path("run"), "--to", "wandb", "-o", path("offline")}).out, wandb.out);
}

TEST_F(InteropTest, RecordsAreServedOnLoopback) {
    const Plan plan = plan_from_argument("cpu-demo")->plan;
    const auto run = RunFolder::create(folder / "run", plan, false);
    ASSERT_TRUE(run) << run.error().message;
    auto writer = TelemetryWriter::open(run->telemetry_path(0));
    ASSERT_TRUE(writer->points(1, 1000, {{series::loss, 2.5}}));
    Process process = start({"records", path("run"), "--listen", "0"});
    std::string said;
    for (int i = 0; i < 1000 && said.find('\n') == std::string::npos; ++i) {
        ::usleep(10'000);
        said = contents_of(folder / "out");
    }
    const std::string host = "http://127.0.0.1:";
    ASSERT_THAT(said, ::testing::StartsWith(host));
    httplib::Client client("127.0.0.1", std::stoi(said.substr(host.size())));
    auto answer = client.Get("/metrics");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_THAT(answer->body, ::testing::ContainsRegex("plimsoll_loss\\{.*\\} 2.5"));
    ASSERT_TRUE(writer->points(2, 1001, {{series::loss, 2.25}}));
    answer = client.Get("/metrics");
    EXPECT_THAT(answer->body, ::testing::ContainsRegex("plimsoll_loss\\{.*\\} 2.25")) << "read afresh";
    EXPECT_EQ(client.Get("/other")->status, 404);
    const int port = std::stoi(said.substr(host.size()));
    for (const std::string own : {"127.0.0.1", "localhost", "[::1]"})
        EXPECT_EQ(client.Get("/metrics", {{"Host", fmt::format("{}:{}", own, port)}})->status, 200) << own;
    for (const char* foreign : {"evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil:80"}) {
        const auto refused = client.Get("/metrics", {{"Host", foreign}});
        EXPECT_EQ(refused->status, 403) << foreign;
        EXPECT_EQ(refused->body.find("plimsoll_loss"), std::string::npos);
    }
    ::kill(process.pid(), SIGINT);
    EXPECT_EQ(ended(process).code, 0);
    expect_refused({"records", path("run"), "--listen", "70000"}, "a port from 1 to 65535");
}

TEST_F(InteropTest, LintListsWhatDiffersFromTheDefaults) {
    put_contents(folder / "ds.json", R"({"train_batch_size": 8, "steps_per_print": 10})");
    const auto listed = [&](const char* release) {
        return json_of(
            plimsoll({"lint", path("ds.json"), "--defaults", "--json", "--release", release}))["differences"];
    };
    EXPECT_EQ(listed("0.19.8").size(), 2U);
    EXPECT_EQ(listed("0.14.4").size(), 1U);  // steps_per_print was 10
}

TEST_F(InteropTest, DeepSpeedConfigBecomesAPlanAndComesBackWhole) {
    put_contents(folder / "ds.json", R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, // eight
        "bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "reduce_bucket_size": 1000}, "my_key": [1, 2],})");
    const Output imported =
        plimsoll({"import", "deepspeed", path("ds.json"), "llama-7b-4xa100", "-o", path("plan.json")});
    ASSERT_EQ(imported.code, 0) << imported.err;
    const Output exported = plimsoll({"export", "deepspeed", path("plan.json")});
    EXPECT_THAT(exported.err, Not(HasSubstr("is not a key")));
    const Json json = json_of(exported);
    EXPECT_EQ(json["my_key"], Json::parse("[1, 2]"));
    EXPECT_EQ(json["zero_optimization"]["reduce_bucket_size"], 1000);
    EXPECT_EQ(json["gradient_accumulation_steps"], 8);
    put_contents(folder / "ds.json", R"({"zero_optimization": {"stage": "two"}})");
    put_contents(folder / "plan.json", "the old one");
    expect_refused({"import", "deepspeed", path("ds.json"), "llama-7b-4xa100", "-o", path("plan.json")}, "stage");
    EXPECT_EQ(contents_of(folder / "plan.json"), "the old one");
}

TEST_F(InteropTest, HuggingFaceConfigBecomesAPlanThatOtherCommandsTake) {
    put_contents(folder / "config.json", R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000, "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6, "tie_word_embeddings": false})");
    const Output output = plimsoll({"import", "hf", path("config.json"), "-o", path("plan.json")});
    ASSERT_EQ(output.code, 0) << output.err;
    const Json json = json_of(plimsoll({"estimate", path("plan.json"), "--json"}));
    EXPECT_EQ(json["model"]["parameters"], 6738415616);
    EXPECT_EQ(json_of(plimsoll({"import", "hf", path("config.json")})), *read_json(folder / "plan.json"));
}

TEST_F(InteropTest, KeysThatAPlanDoesNotFollowAreToldAndKept) {
    put_contents(folder / "config.json", R"({"model_type": "llama", "vocab_size": 32000, "bos_token_id": 1,
        "max_position_embeddings": 2048, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}, "use_wormholes": 1,
        "torch_dtype": "float16"})");
    const Output output = plimsoll({"import", "hf", path("config.json"), "-o", path("plan.json")});
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, ::testing::AllOf(HasSubstr("note: rope_scaling is of type llama3 with factor 8.0"),
                                             HasSubstr("note: use_wormholes is 1, a key that is not known"),
                                             HasSubstr("cannot start from the weights of this one"),
                                             HasSubstr("torch_dtype is float16 and numerics.dtype is bf16")));
    const Json kept = (*read_json(folder / "plan.json"))["hugging_face"]["config"];
    EXPECT_EQ(kept["bos_token_id"], 1);
    EXPECT_EQ(kept["rope_scaling"]["factor"], 8.0);
    EXPECT_EQ(plimsoll({"estimate", path("plan.json")}).code, 0);
    EXPECT_THAT(plimsoll({"export", "megatron", path("plan.json")}).err,
                HasSubstr("rope_scaling of the model's config.json is not in"));
}

TEST_F(InteropTest, WrongConfigsAreNamed) {
    expect_refused({"import", "hf", path("none.json")}, "none.json");
    put_contents(folder / "config.json", R"({"model_type": "mamba"})");
    put_contents(folder / "plan.json", "the old one");
    expect_refused({"import", "hf", path("config.json"), "-o", path("plan.json")}, "mamba");
    EXPECT_EQ(contents_of(folder / "plan.json"), "the old one");
}

TEST_F(InteropTest, GgufBecomesAPlan) {
    put_contents(folder / "tiny.gguf", some_llama().bytes());
    const Output output = plimsoll({"import", "gguf", path("tiny.gguf"), "-o", path("plan.json")});
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("as many as the plan's model"));
    const Json json = json_of(plimsoll({"estimate", path("plan.json"), "--json"}));
    EXPECT_EQ(json["model"]["parameters"], 98'624);
    put_contents(folder / "tiny.gguf", some_llama().bytes().substr(0, 300));
    put_contents(folder / "plan.json", "the old one");
    expect_refused({"import", "gguf", path("tiny.gguf"), "-o", path("plan.json")}, "cut short");
    expect_refused({"import", "gguf", path("tiny.gguf"), "-o", path("tiny.gguf")}, "cut short");
    EXPECT_EQ(contents_of(folder / "plan.json"), "the old one");
}

TEST_F(InteropTest, CheckpointsOfPyTorchAreCountedBesideTheirConfig) {
    const std::string pickle = PickleText().op("}").text("w").tensor({"0", 0, {3, 2}, {2, 1}}).op("s").done();
    put_contents(folder / "pytorch_model.bin", torch_archive(pickle, {floats(6)}).bytes());
    const Json counted = json_of(plimsoll({"import", "checkpoint", path(""), "--json"}));
    EXPECT_EQ(counted["kind"], "torch.save");
    EXPECT_EQ(counted["parameters"], 6);
    EXPECT_EQ(counted["dtypes"]["F32"]["bytes"], 24);
    EXPECT_EQ(counted["step"], Json());
    expect_refused({"import", "checkpoint", path("pytorch_model.bin"), "-o", path("plan.json")}, "no config.json");
    put_contents(folder / "config.json", R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4})");
    const Output output = plimsoll({"import", "checkpoint", path(""), "-o", path("plan.json")});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("torch.save, 1 file"));
    EXPECT_THAT(output.err, ::testing::AllOf(HasSubstr("the files 6"), HasSubstr("--set model.weights=")));
    put_contents(folder / "pytorch_model.bin", "cut short");
    expect_refused({"import", "checkpoint", path("")}, "no zip archive");
    expect_refused({"import", "checkpoint", path("none")}, "there is no file or folder");
}

TEST_F(InteropTest, SafetensorsAreCountedBesideTheirConfig) {
    put_safetensors(folder / "model.safetensors");
    const Json counted = json_of(plimsoll({"import", "safetensors", path("model.safetensors"), "--json"}));
    EXPECT_EQ(counted["parameters"], 221);
    EXPECT_EQ(counted["dtypes"]["F32"]["bytes"], 884);
    expect_refused({"import", "safetensors", path("model.safetensors"), "-o", path("plan.json")}, "no config.json");
    put_contents(folder / "config.json", R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4})");
    const Output output = plimsoll({"import", "safetensors", path(""), "-o", path("plan.json")});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("F32"));
    EXPECT_THAT(output.err, HasSubstr("the files 221"));
    EXPECT_EQ((*read_json(folder / "plan.json"))["model"]["hidden_size"], 64);
}

}  // namespace
}  // namespace plimsoll
