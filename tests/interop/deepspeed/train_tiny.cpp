// SPDX-License-Identifier: Apache-2.0
// train-tiny FOLDER [NAME...]: trains the tiny GPT that run_tiny.py gives to the real DeepSpeed, from the same weights
// on the same data, under each plan below, and writes the plan's DeepSpeed config to FOLDER/NAME.json and the losses to
// FOLDER/NAME.engine.json, for train_deepspeed.py to compare.
#include <algorithm>
#include <cstdio>
#include <map>
#include <thread>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/control/loss_scaler.h"
#include "core/control/lr_schedule.h"
#include "core/engine/parallel/gradient_norms.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "tests/support/run_harness.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

constexpr std::int64_t vocab = 64, width = 32, layers = 2, time = 16, steps = 20;
constexpr std::uint64_t seed = 1234;

/// As run_tiny.py's head describes it.
class SplitMix64 {
public:
    explicit SplitMix64(std::uint64_t state) : state_(state) {}
    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    std::uint64_t state_;
};

/// The matrices that draw, in the order of their names there: [rows, columns] and ours, which for GPT-2's Conv1D is the
/// transposed one.
std::map<std::string, Tensor> drawn_weights() {
    SplitMix64 random(seed);
    std::map<std::string, Tensor> weights;
    const auto draw = [&](const std::string& name, std::int64_t rows, std::int64_t columns, bool transposed) {
        Tensor matrix = torch::empty({rows, columns}, torch::kFloat64);
        for (std::int64_t i = 0; i < matrix.numel(); ++i) {
            matrix.data_ptr<double>()[i] = (2 * random.uniform() - 1) * 0.08;
        }
        const Tensor single = matrix.to(torch::kFloat);
        weights[name] = transposed ? single.t().contiguous() : single;
    };
    for (std::int64_t i = 0; i < layers; ++i) {
        const std::string layer = fmt::format("transformer.h.{}.", i);
        draw(layer + "mlp.c_fc.weight", 4 * width, width, true);
        draw(layer + "mlp.c_proj.weight", width, 4 * width, true);
        draw(layer + "attn.c_proj.weight", width, width, true);
        draw(layer + "attn.c_attn.weight", 3 * width, width, true);
    }
    draw("lm_head.weight", vocab, width, false);
    draw("transformer.wpe.weight", time, width, false);
    draw("transformer.wte.weight", vocab, width, false);
    return weights;
}

Tensor make_data(std::int64_t samples) {
    SplitMix64 random(seed ^ 0xD1B54A32D192ED03ULL);
    const auto token = [&] { return static_cast<std::int64_t>(random.next() % vocab); };
    std::vector<std::int64_t> next(vocab);
    for (std::int64_t& each : next) each = token();
    Tensor data = torch::empty({samples, time + 1}, torch::kLong);
    for (std::int64_t i = 0; i < samples; ++i) {
        std::int64_t* const row = data.data_ptr<std::int64_t>() + i * (time + 1);
        row[0] = token();
        for (std::int64_t j = 0; j < time; ++j) {
            row[j + 1] = random.next() % 8 != 0 ? next[static_cast<std::size_t>(row[j])] : token();
        }
    }
    return data;
}

Plan base_plan() {
    Plan plan;
    Model& m = plan.model;
    m.family = Family::Gpt2;
    m.hidden_size = width;
    m.num_layers = layers;
    m.num_heads = m.num_kv_heads = 2;
    m.ffn_hidden_size = 4 * width;
    m.vocab_size = vocab;
    m.max_position = time;
    m.norm = Norm::LayerNorm;
    m.position = Position::Learned;
    m.activation = Activation::Gelu;
    m.qkv_bias = m.linear_bias = true;
    m.tied_head = false;
    plan.cluster.gpu = "H100 SXM";
    plan.cluster.gpus_per_node = plan.layout.dp = 2;
    plan.layout.micro_batch = plan.layout.accumulation = 2;
    plan.numerics.attention = Attention::Eager;
    plan.numerics.loss_scale_window = 5;
    plan.numerics.loss_scale_growth_fault = true;
    plan.optimizer.lr = 5e-3;
    // DeepSpeed is given one group of parameters, so that its decay would be on biases and norms as well.
    plan.optimizer.weight_decay = 0;
    plan.lr.kind = LrKind::DeepSpeedWarmupDecay;
    plan.lr.warmup_steps = 5;
    plan.data.sequence_length = time;
    plan.training.steps = steps;
    return plan;
}

struct Case {
    std::string name;
    std::vector<std::string> settings;
};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (int stage = 0; stage <= 3; ++stage) {
        all.push_back({fmt::format("fp32-zero{}", stage), {fmt::format("layout.zero_stage={}", stage)}});
    }
    for (const int stage : {1, 2, 3}) {
        all.push_back({fmt::format("fp32-zero{}-offload", stage),
                       {fmt::format("layout.zero_stage={}", stage), "layout.offload_optimizer=cpu"}});
    }
    for (const char* dtype : {"bf16", "fp16"}) {
        for (int stage = 1; stage <= 3; ++stage) {
            all.push_back({fmt::format("{}-zero{}", dtype, stage),
                           {fmt::format("numerics.dtype={}", dtype), fmt::format("layout.zero_stage={}", stage)}});
        }
    }
    return all;
}

template <class T>
T value_of(Result<T> result) {
    if (!result) throw CollectiveError(result.error().message);
    return std::move(*result);
}

Json train_rank(const Plan& plan, Collectives& world, const Tensor& data) {
    const auto mesh = value_of(Mesh::make(plan, world));
    const PipelineSchedule schedule = value_of(plan_schedule(plan));
    DistributedModel model(plan, *mesh, schedule, torch::Device(torch::kCPU));
    Pipeline pipeline(plan, model, schedule);
    const torch::ScalarType dtype = scalar_type(plan.numerics.dtype);
    const auto drawn = drawn_weights();
    NamedTensors weights;
    for (const auto& [name, tensor] : parameters_of(*make_decoder(plan, 1))) {
        const auto found = drawn.find(name);
        weights.emplace_back(name, (found == drawn.end() ? tensor.detach() : found->second).to(dtype));
    }
    must(model.broadcast_parameters());
    must(model.weights().load(weights, "the tiny model"));
    must(model.make_optimizer(plan.optimizer));
    LossScaler scaler(plan.numerics);
    const Layout& layout = plan.layout;
    Json records = Json::array();
    std::int64_t updates = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
        StepSettings settings;
        settings.loss_scale = scaler.scale();
        const StepLosses losses = value_of(pipeline.step(
            [&](std::int64_t k) {
                const std::int64_t first =
                    ((step * layout.dp + mesh->position().dp) * layout.accumulation + k) * layout.micro_batch;
                const Tensor rows = data.narrow(0, first, layout.micro_batch);
                return Batch{rows.narrow(1, 0, time).contiguous(), rows.narrow(1, 1, time).contiguous(), {}};
            },
            settings));
        Tensor loss = losses.loss / static_cast<double>(layout.accumulation * layout.dp);
        must(world.all_reduce_sum(loss)->wait());
        const double norm = value_of(model.sizes().norms(1 / settings.loss_scale)).global;
        const bool finite = std::isfinite(norm);
        must(scaler.update(!finite));
        records.push_back({{"step", step}, {"loss", loss.item<double>()}, {"grad_norm", norm}});
        if (!finite) continue;
        const double divisor = scaler.divisor(settings.loss_scale);
        const double clip = clip_factor(norm * settings.loss_scale / divisor, plan.optimizer.clip);
        must(model.step(learning_rate(plan, updates++), 1 / divisor, clip));
    }
    must(world.barrier());
    return {{"engine", "plimsoll"}, {"steps", std::move(records)}};
}

/// The ranks are threads of this program in a real Gloo group.
Json train(Plan plan) {
    plan.cluster.gpu = "cpu";
    plan.layout.offload_optimizer = Offload::None;  // on the CPU there is no other place
    const Tensor data = make_data(steps * plan.layout.global_batch());
    static const plimsoll::testing::Store store;
    static int attempt = 0;
    ++attempt;
    Json result;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < plan.layout.world_size(); ++rank) {
        ranks.emplace_back([&, rank] {
            RankInfo info;
            info.secret = "of this test";
            info.rank = info.local_rank = rank;
            info.world_size = static_cast<int>(plan.layout.world_size());
            info.master_port = store.port();
            info.attempt = attempt;
            const auto group = value_of(make_collectives(info, 60));
            Json own = train_rank(plan, *group, data);
            if (rank == 0) result = std::move(own);
        });
    }
    for (std::thread& rank : ranks) rank.join();
    return result;
}

void write(const std::filesystem::path& path, const Json& json) {
    if (auto written = write_json(path, json); !written) throw CollectiveError(written.error().message);
}

}  // namespace
}  // namespace plimsoll::engine

int main(int argc, char** argv) {
    using namespace plimsoll::engine;
    if (argc < 2) {
        std::fprintf(stderr, "usage: train-tiny FOLDER [NAME...]\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    const std::vector<std::string> wanted(argv + 2, argv + argc);
    at::set_num_threads(1);
    for (const auto& [name, settings] : cases()) {
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
        const auto plan = plimsoll::with_settings(base_plan(), settings);
        const auto exported = plan ? plimsoll::export_deepspeed(*plan) : tl::unexpected(plan.error());
        if (!exported) {
            std::fprintf(stderr, "%s: %s\n", name.c_str(), exported.error().message.c_str());
            return 1;
        }
        write(folder / (name + ".json"), exported->json);
        write(folder / (name + ".engine.json"), train(*plan));
        std::printf("%s\n", name.c_str());
    }
    return 0;
}
