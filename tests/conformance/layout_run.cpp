// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/layout_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "core/engine/parallel/gradient_norms.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/ranks/same_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/schedule_kind.h"
#include "core/plan/settings.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "tests/support/run_harness.h"

namespace plimsoll::engine {

namespace {

constexpr std::int64_t tokens_a_sequence = 16;

std::map<std::string, torch::Tensor> by_name(const NamedTensors& tensors) {
    std::map<std::string, torch::Tensor> map;
    for (const auto& [name, tensor] : tensors) map[name] = tensor.clone();
    return map;
}

std::vector<std::string> settings_of(const std::string& layout) {
    std::vector<std::string> settings;
    std::istringstream words(layout);
    for (std::string word; words >> word;) {
        if (word == "sp") {
            settings.emplace_back("layout.sequence_parallel=true");
        } else if (word.starts_with("zero=")) {
            settings.push_back(fmt::format("layout.zero_stage={}", word.substr(5)));
        } else if (word.find('.') < word.find('=')) {
            settings.push_back(word);
        } else {
            settings.push_back(fmt::format("layout.{}", word));
        }
    }
    return settings;
}

/// Sequence number `sample`, the same whoever asks.
torch::Tensor sequence(const Plan& plan, std::uint64_t sample) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + sample);
    return at::randint(plan.model.vocab_size, {plan.data.sequence_length + 1}, generator,
                       torch::TensorOptions().dtype(torch::kLong));
}

Batch batch_of(const Plan& plan, const std::vector<std::uint64_t>& samples) {
    std::vector<torch::Tensor> rows;
    for (const std::uint64_t sample : samples) rows.push_back(sequence(plan, sample));
    const torch::Tensor all = at::stack(rows);
    const std::int64_t time = plan.data.sequence_length;
    return {all.narrow(1, 0, time).contiguous(), all.narrow(1, 1, time).contiguous(), samples};
}

/// Micro-batch k of data-parallel rank d holds the samples that BatchSource would give it.
Batch micro_batch(const Plan& plan, std::uint64_t first, std::int64_t k, int d) {
    std::vector<std::uint64_t> samples;
    for (std::int64_t i = 0; i < plan.layout.micro_batch; ++i) {
        samples.push_back(first + static_cast<std::uint64_t>((k * plan.layout.micro_batch + i) * plan.layout.dp + d));
    }
    return batch_of(plan, samples);
}

template <class T>
T value_of(Result<T> result) {
    if (!result) throw CollectiveError(result.error().message);
    return std::move(*result);
}

/// Compares the embedding with its copy on the last stage.
bool tied_alike(const Plan& plan, const Mesh& mesh, DistributedModel& model, Collectives& world) {
    // With ZeRO-3 a weight has no memory here, but then there is no pipeline.
    // A schedule that folds the model has both ends on one rank.
    const bool tied = mesh.ends().world_size() > 1 && plan.model.tied_head && !folds_model(plan.layout.schedule);
    torch::Tensor own;
    for (int i = 0; i < model.chunks(); ++i) {
        for (const auto& [name, tensor] : parameters_of(model.chunk(i))) {
            const bool table = name.ends_with("wte.weight") || name.ends_with("embed_tokens.weight") ||
                               (plan.model.tied_head && name == "lm_head.weight");
            if (table && tied) own = tensor.detach();
        }
    }
    double different = 0;
    if (own.defined()) {
        torch::Tensor first = own.clone();
        must(mesh.ends().broadcast(first, 0));
        different = torch::equal(first, own) ? 0 : 1;
    }
    torch::Tensor sum = torch::full({1}, different, torch::kFloat64);
    must(world.all_reduce_sum(sum)->wait());
    return sum.item<double>() == 0;
}

/// What a rank holds. After an error it is left alone: messages on their way still write into its tensors.
struct Rank {
    Rank(const Plan& plan, std::unique_ptr<Mesh> its_mesh, PipelineSchedule its_schedule)
        : mesh(std::move(its_mesh)),
          schedule(std::move(its_schedule)),
          model(plan, *mesh, schedule, torch::Device(torch::kCPU)),
          pipeline(plan, model, schedule) {}
    std::unique_ptr<Mesh> mesh;
    PipelineSchedule schedule;
    DistributedModel model;
    Pipeline pipeline;
};

LayoutRun train(const Plan& plan, Collectives& world, Rank& rank, int steps, const NamedTensors* start) {
    const std::unique_ptr<Mesh>& mesh = rank.mesh;
    DistributedModel& model = rank.model;
    Pipeline& pipeline = rank.pipeline;
    must(model.broadcast_parameters());
    if (start != nullptr) must(model.weights().load(*start, "the start"));
    must(model.make_optimizer(plan.optimizer));

    LayoutRun run;
    for (int step = 0; step < steps; ++step) {
        const auto first = static_cast<std::uint64_t>(step * plan.layout.global_batch());
        const int d = mesh->position().dp;
        const bool measured = plan.training.noise_scale_every > 0;
        if (measured) model.sizes().measure_noise(true);
        const StepLosses losses =
            value_of(pipeline.step([&](std::int64_t k) { return micro_batch(plan, first, k, d); }, {}));
        torch::Tensor loss = torch::zeros({3}, torch::kFloat64);
        const auto parts = static_cast<double>(plan.layout.accumulation * plan.layout.dp * plan.layout.cp);
        if (mesh->tensor().rank() == 0) {
            if (losses.loss.defined()) loss[0] += losses.loss / parts;
            loss[1] += losses.z / parts;
        }
        loss[2] += losses.router / parts;
        must(world.all_reduce_sum(loss)->wait());
        run.losses.push_back(loss[0].item<double>());
        run.z_losses.push_back(loss[1].item<double>());
        run.router_losses.push_back(loss[2].item<double>());
        if (measured) run.noise.push_back(value_of(model.sizes().noise_samples(1)));
        model.sizes().measure_noise(false);
        run.overlapped_buckets = model.parameters().overlapped_buckets();
        if (step == 0) run.gradients = by_name(value_of(model.weights().whole_gradients()));
        const GradientNorms norms = value_of(model.sizes().norms(1));
        run.grad_norms.push_back(norms.global);
        must(model.sizes().clip_by_tensor(1, norms.global));
        const bool by_tensor = plan.optimizer.clip_rule == ClipRule::AdaGc;
        const double clip = by_tensor ? 1 : clip_factor(norms.global, plan.optimizer.clip);
        must(model.step(plan.optimizer.lr, 1, clip));
    }
    run.weights = by_name(value_of(model.weights().whole()));
    run.optimizer = by_name(value_of(model.whole_optimizer_state()));
    model.train(false);
    run.validation_loss = value_of(pipeline.loss(batch_of(plan, {77777, 88888})));
    run.next_logits = value_of(pipeline.next_logits(sequence(plan, 5).narrow(0, 0, 7).unsqueeze(0)));
    if (steps > 0) run.tied_alike = tied_alike(plan, *mesh, model, world);
    must(world.barrier());
    return run;
}

LayoutRun train_rank(const Plan& plan, Collectives& world, int steps, const NamedTensors* start) {
    auto rank = std::make_unique<Rank>(plan, value_of(Mesh::make(plan, world)), value_of(plan_schedule(plan)));
    try {
        return train(plan, world, *rank, steps, start);
    } catch (...) {
        static_cast<void>(rank.release());
        throw;
    }
}

}  // namespace

Plan conformance_plan(const std::string& preset, const std::string& layout) {
    Plan plan;
    plan.model = model_preset(preset).value();
    plan.model.preset.clear();
    Model& m = plan.model;
    const std::int64_t group = m.num_heads / m.num_kv_heads;
    m.num_heads = 4;
    m.num_kv_heads = group == 1 ? 4 : 2;
    m.hidden_size = 32;
    m.head_dim = 0;
    m.ffn_hidden_size = 48;
    m.num_layers = 4;
    m.vocab_size = 61;  // does not come out even
    m.max_position = 24;
    m.dropout = 0;
    m.init_std = 0.1;
    if (m.moe()) m.num_experts = 4;
    plan.data.sequence_length = tokens_a_sequence;
    plan.layout = Layout();
    plan.layout.dp = 1;
    plan.layout.micro_batch = 2;
    plan.layout.accumulation = 4;
    plan.optimizer.lr = 0.01;
    // Gradients that are zero but for rounding would make Adam's steps random with the usual 1e-8.
    plan.optimizer.eps = 1e-4;
    auto set = with_settings(plan, settings_of(layout));
    if (!set) throw std::invalid_argument(set.error().message);
    // The global batch is 8 whatever the layout.
    set->layout.accumulation = 8 / (set->layout.dp * set->layout.micro_batch);
    return *set;
}

LayoutRun run_preset(const std::string& preset, const std::string& layout, int steps) {
    LayoutRun run = run_layout(conformance_plan(preset, layout), steps);
    EXPECT_TRUE(run.failure.empty()) << layout << ": " << run.failure;
    return run;
}

void expect_same_training(const LayoutRun& run, const LayoutRun& one, const std::string& what) {
    ASSERT_TRUE(run.failure.empty()) << what << ": " << run.failure;
    ASSERT_EQ(run.losses.size(), one.losses.size()) << what;
    std::string where;
    EXPECT_LT(largest_relative_difference(run.gradients, one.gradients, &where), 1e-5) << what << " " << where;
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
        EXPECT_NEAR(run.losses[i], one.losses[i], 1e-5) << what;
        EXPECT_NEAR(run.z_losses[i], one.z_losses[i], 1e-5) << what;
        EXPECT_NEAR(run.router_losses[i], one.router_losses[i], 1e-6) << what;
    }
    EXPECT_NEAR(run.grad_norms.front() / one.grad_norms.front(), 1, 1e-6) << what;
    EXPECT_LT(largest_difference(run.weights, one.weights), 1e-4) << what;
}

Plan on_one_rank(const Plan& plan) {
    Plan one = plan;
    Layout& l = one.layout;
    l.accumulation *= l.dp;
    l.dp = l.tp = l.pp = l.cp = l.ep = 1;
    l.zero_stage = 0;
    l.sequence_parallel = false;
    l.schedule = Schedule::OneFOneB;
    l.schedule_file.clear();
    l.recompute = Recompute::None;
    l.loss_chunks = 1;
    l.compress_activations = l.offload_activations = false;
    l.offload_optimizer = l.offload_parameters = Offload::None;
    return one;
}

namespace {

/// `body` on each rank of a group of its own; the sentences of those that failed.
std::string on_ranks(int world_size, Seconds timeout, const std::function<void(Collectives&)>& body) {
    at::set_num_threads(1);
    static plimsoll::testing::Store store;
    static std::atomic<int> attempt{0};
    const int number = ++attempt;
    std::vector<std::string> failures(static_cast<std::size_t>(world_size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
        threads.emplace_back([&, rank] {
            RankInfo info;
            info.secret = "of this test";
            info.own_process = false;
            info.rank = info.local_rank = rank;
            info.world_size = world_size;
            info.master_port = store.port();
            info.attempt = number;
            auto group = make_collectives(info, timeout);
            try {
                if (!group) throw CollectiveError(group.error().message);
                body(**group);
            } catch (const std::exception& error) {
                failures[static_cast<std::size_t>(rank)] = fmt::format("rank {}: {}\n", rank, error.what());
                if (group) static_cast<void>(group->release());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::string all;
    for (const std::string& failure : failures) all += failure;
    return all;
}

}  // namespace

LayoutRun run_layout(const Plan& plan, int steps, const NamedTensors* start) {
    const int world_size = static_cast<int>(plan.layout.world_size());
    if (world_size == 1) {
        at::set_num_threads(1);
        const auto alone = single_rank();
        return train_rank(plan, *alone, steps, start);
    }
    LayoutRun first;
    first.failure = on_ranks(world_size, 30, [&](Collectives& world) {
        LayoutRun run = train_rank(plan, world, steps, start);
        if (world.rank() == 0) first = std::move(run);
    });
    return first;
}

std::string run_with_odd_rank(const Plan& plan, int odd, const std::function<void(Plan&)>& change) {
    return on_ranks(static_cast<int>(plan.layout.world_size()), 5, [&](Collectives& world) {
        Plan own = plan;
        if (world.rank() == odd) change(own);
        must(require_same_plan(own, world));
        train_rank(own, world, 2, nullptr);
    });
}

std::string run_with_silent_rank(const Plan& plan, int silent, Seconds timeout) {
    return on_ranks(static_cast<int>(plan.layout.world_size()), timeout, [&](Collectives& world) {
        const Mesh* const mesh = value_of(Mesh::make(plan, world)).release();
        if (world.rank() == silent) {
            std::this_thread::sleep_for(std::chrono::duration<double>(2 * timeout));
            return;
        }
        must(mesh->data().all_reduce_sum(torch::ones({3}))->wait());
        must(world.barrier());
    });
}

double largest_relative_difference(const std::map<std::string, torch::Tensor>& a,
                                   const std::map<std::string, torch::Tensor>& b, std::string* where) {
    double all = 0;
    for (const auto& [name, tensor] : b) all = std::max(all, tensor.abs().max().item<double>());
    double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
    for (const auto& [name, tensor] : b) {
        const auto other = a.find(name);
        if (other == a.end()) return std::numeric_limits<double>::infinity();
        const double scale = std::max(tensor.abs().max().item<double>(), 0.01 * all);
        const double difference =
            (tensor.to(torch::kDouble) - other->second.to(torch::kDouble)).abs().max().item<double>() / scale;
        if (!(difference <= worst)) {
            worst = difference;
            if (where != nullptr) *where = name;
        }
    }
    return worst;
}

double largest_difference(const std::map<std::string, torch::Tensor>& a,
                          const std::map<std::string, torch::Tensor>& b) {
    double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
    for (const auto& [name, tensor] : b) {
        const auto other = a.find(name);
        if (other == a.end()) return std::numeric_limits<double>::infinity();
        worst =
            std::max(worst, (tensor.to(torch::kDouble) - other->second.to(torch::kDouble)).abs().max().item<double>());
    }
    return worst;
}

}  // namespace plimsoll::engine
