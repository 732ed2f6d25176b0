// SPDX-License-Identifier: Apache-2.0
// Optimizers whose states lie in a file. In a program of its own, for the memory counter replaces the allocator of the
// process.
#include "core/engine/optimizer/offloaded_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/engine/dry_run/counting_collectives.h"
#include "core/engine/memory/memory_counter.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/plan/parameters.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/small_models.h"
#include "tests/support/small_parts.h"

namespace plimsoll::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using torch::Tensor;
namespace fs = std::filesystem;

class Offloaded : public ::testing::Test {
protected:
    Offloaded() : folder_(fs::temp_directory_path() / fmt::format("plimsoll-offload-{}", ::getpid())) {
        install_memory_counter();
        fs::create_directory(folder_);
    }
    ~Offloaded() override { fs::remove_all(folder_); }

    Result<std::unique_ptr<StateStore>> store() const {
        Layout layout;
        layout.offload_optimizer = Offload::Nvme;
        layout.nvme_path = folder_.string();
        return make_state_store(layout, torch::kCPU);
    }
    std::unique_ptr<ShardedOptimizer> optimizer(const std::vector<OptimizedPart>& parts,
                                                const Optimizer& settings) const {
        return make_optimizer(parts, settings, nullptr, store().value()).value();
    }

    fs::path folder_;
};

/// Two large enough for moments in 8 bits, a vector, an empty one, one of more than a chunk.
std::vector<OptimizedPart> many_parts(torch::ScalarType dtype) {
    std::vector<OptimizedPart> parts = two_parts(dtype);
    parts.push_back(whole_part("second", torch::randn({80, 64}).to(dtype)));
    parts.push_back({"empty", torch::empty({0, 8}, dtype), true, 1000, 8});
    parts.push_back(whole_part("large", torch::randn({1030, 1024}).to(dtype)));
    return parts;
}

void expect_equal(const std::vector<OptimizedPart>& a, const std::vector<OptimizedPart>& b, const std::string& what) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_TRUE(torch::equal(a[i].parameter, b[i].parameter)) << what << " " << a[i].name;
    }
}

void expect_equal_states(const ShardedOptimizer& a, const ShardedOptimizer& b, const std::string& what) {
    const auto left = named_state(a), right = named_state(b);
    ASSERT_EQ(left.size(), right.size()) << what;
    for (std::size_t k = 0; k < left.size(); ++k) {
        EXPECT_EQ(left[k].first, right[k].first);
        EXPECT_TRUE(torch::equal(left[k].second, right[k].second)) << what << " " << left[k].first;
    }
}

TEST_F(Offloaded, UpdatesToTheBitAsInMemory) {
    for (const Optimizer& settings : every_optimizer()) {
        for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
            const std::string what = fmt::format("{} {}", name_of(settings), c10::toString(dtype));
            const auto here = many_parts(dtype), away = many_parts(dtype);
            const auto resident = optimizer_of(here, settings), offloaded = optimizer(away, settings);
            for (std::int64_t step = 1; step <= 4; ++step) {
                auto gradients = random_gradients(here, step);
                // A part that is read ahead and then not used, and the last one.
                if (step == 2) gradients[1] = Tensor();
                if (step == 3) gradients[4] = Tensor();
                ASSERT_TRUE(resident->step(gradients, 0.01, 0.5, 0.9));
                ASSERT_TRUE(offloaded->step(gradients, 0.01, 0.5, 0.9)) << what;
            }
            expect_equal(here, away, what);
            expect_equal_states(*resident, *offloaded, what);
            expect_equal_states(*resident, *offloaded, what + ", read again");
        }
    }
}

TEST_F(Offloaded, StatesMoveBetweenFileAndMemory) {
    for (const Optimizer& settings : every_optimizer()) {
        const std::string what(name_of(settings));
        const auto a = many_parts(torch::kBFloat16), b = many_parts(torch::kBFloat16), c = many_parts(torch::kBFloat16);
        const auto first = optimizer(a, settings), second = optimizer(b, settings);
        const auto third = optimizer_of(c, settings);
        for (std::int64_t step = 1; step <= 2; ++step) ASSERT_TRUE(first->step(random_gradients(a, step), 0.01, 1, 1));
        ASSERT_TRUE(second->load_state(named_state(*first), first->steps()));
        ASSERT_TRUE(third->load_state(named_state(*second), first->steps()));
        for (std::size_t i = 0; i < a.size(); ++i) {
            b[i].parameter.copy_(a[i].parameter);
            c[i].parameter.copy_(a[i].parameter);
        }
        for (const auto* each : {&first, &second, &third})
            ASSERT_TRUE((*each)->step(random_gradients(a, 3), 0.01, 1, 1));
        expect_equal(a, b, what);
        expect_equal(a, c, what);
        expect_equal_states(*second, *third, what);
        auto wrong = named_state(*first);
        wrong.pop_back();
        EXPECT_FALSE(second->load_state(wrong, 9));
        expect_equal_states(*second, *third, what + ", nothing has changed");
    }
}

TEST_F(Offloaded, MemoryHoldsThreePartsAtMost) {
    // 16 parts of 1 MiB, whose AdamW states are 3 MiB each in half precision: 6 bytes of states a byte of weights.
    const auto parts_of = [] {
        std::vector<OptimizedPart> parts;
        for (int i = 0; i < 16; ++i) {
            parts.push_back(whole_part(fmt::format("w{}", i), torch::ones({512, 1024}, torch::kBFloat16)));
        }
        return parts;
    };
    const auto parts = parts_of();
    const auto gradients = random_gradients(parts, 1);
    const Bytes before = memory_now(), states = 6 * MiB;
    {
        const auto resident = optimizer_of(parts, {});
        ASSERT_TRUE(resident->step(gradients, 0.01, 1, 1));
        EXPECT_GE(memory_now() - before, 16 * states);
    }
    reset_memory_peak();
    const auto offloaded = optimizer(parts, {});
    for (int step = 0; step < 3; ++step) ASSERT_TRUE(offloaded->step(gradients, 0.01, 1, 1));
    const Bytes scratch = 4 * MiB;
    EXPECT_LE(memory_peak() - before, 3 * states + scratch + 64 * KiB) << "while they are made, too";
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (memory_now() - before > 64 * KiB && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_LE(memory_now() - before, 64 * KiB) << "the last part is written";
}

TEST_F(Offloaded, TheFileHasNoName) {
    const auto parts = two_parts(torch::kBFloat16);
    const auto offloaded = optimizer(parts, {});
    ASSERT_TRUE(offloaded->step(random_gradients(parts, 1), 0.01, 1, 1));
    EXPECT_TRUE(fs::is_empty(folder_)) << "nothing remains, whatever ends the process";
}

TEST_F(Offloaded, AFolderThatIsNotThereIsNamed) {
    const fs::path file = folder_ / "file";
    std::ofstream(file) << "x";
    for (const fs::path& path : {folder_ / "missing", file}) {
        const auto made = OffloadedStates::create(path, ReadAhead::Next, "the states");
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().kind, Error::Kind::BadInput);
        EXPECT_THAT(made.error().message,
                    HasSubstr(fmt::format("layout.nvme_path \"{}\" is not a folder", path.string())));
    }
}

TEST_F(Offloaded, AFullDriveIsToldBeforeTheFirstStep) {
    const auto parts = many_parts(torch::kBFloat16);
    const FileSizeLimit limit(5 * MiB);
    const auto made = make_optimizer(parts, {}, nullptr, store().value());
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message,
                AllOf(HasSubstr("do not fit on the drive of layout.nvme_path"), HasSubstr("are needed"),
                      HasSubstr("free some room or name a folder on another drive")));
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Offloaded, AWriteThatFailsEndsTheTraining) {
    const auto parts = many_parts(torch::kBFloat16);
    const auto offloaded = optimizer(parts, {});
    const FileSizeLimit limit(1 * KiB);
    const auto gradients = random_gradients(parts, 1);
    auto stepped = offloaded->step(gradients, 0.01, 1, 1);
    if (stepped) stepped = offloaded->step(gradients, 0.01, 1, 1);  // the last part's write is waited for here
    ASSERT_FALSE(stepped);
    EXPECT_THAT(stepped.error().message, HasSubstr("cannot be written: File too large"));
    EXPECT_THROW(offloaded->state(), std::runtime_error) << "no checkpoint of what is not there";
}

/// Four data-parallel ranks of which one is there, with a model of 8 layers.
Plan sharded_plan(const fs::path& folder, Offload parameters) {
    Plan plan = small_plan("llama-7b");
    plan.model.hidden_size = 128;
    plan.model.num_heads = plan.model.num_kv_heads = 4;
    plan.model.ffn_hidden_size = 384;
    plan.model.num_layers = 8;
    plan.layout = Layout();
    plan.layout.dp = 4;
    plan.layout.zero_stage = 3;
    plan.layout.offload_parameters = parameters;
    plan.layout.nvme_path = folder.string();
    return plan;
}

TEST_F(Offloaded, UnderZero3NoRankEverHoldsTheWholeModel) {
    for (const Offload parameters : {Offload::None, Offload::Nvme}) {
        const Plan plan = sharded_plan(folder_, parameters);
        const auto world = counting_collectives(1, 4);
        const auto mesh = Mesh::make(plan, *world).value();
        const auto schedule = plan_schedule(plan).value();
        const Bytes whole = 4 * count_parameters(plan.model).total;
        const Bytes layer = 4 * count_parameters(plan.model).layer;
        reset_memory_peak();
        const Bytes before = memory_now();
        const DistributedModel model(plan, *mesh, schedule, torch::kCPU);
        const Bytes shards = parameters == Offload::None ? whole / 4 : 0, gradients = whole / 4;
        EXPECT_LT(memory_now() - before, shards + gradients + layer / 4) << "what stays";
        // A layer as it is made: its weights, its gradients' bucket, and a matrix as it is drawn.
        EXPECT_LT(memory_peak() - before, shards + gradients + 3 * layer) << "on the way";
        EXPECT_LT(shards + gradients + 3 * layer, whole) << "the limit means something";
    }
}

TEST_F(Offloaded, UnderZero3EachShardStartsWithTheWeightsOfOneRank) {
    Plan plan = sharded_plan(folder_, Offload::None);
    plan.model.num_layers = 2;
    plan.layout.dp = 1;
    const auto schedule = plan_schedule(plan).value();
    const auto mesh = Mesh::alone();
    std::map<std::string, Tensor> expected;
    for (const auto& [stage, parameters] :
         {std::pair{0, Offload::None}, std::pair{3, Offload::None}, std::pair{3, Offload::Nvme}}) {
        for (const Dtype dtype : {Dtype::Fp32, Dtype::Bf16}) {
            plan.layout.zero_stage = stage;
            plan.layout.offload_parameters = parameters;
            plan.numerics.dtype = dtype;
            DistributedModel model(plan, *mesh, schedule, torch::kCPU);
            const auto weights = model.weights().whole();
            ASSERT_TRUE(weights);
            for (const auto& [name, tensor] : *weights) {
                const std::string key = fmt::format("{} {}", name, static_cast<int>(dtype));
                if (stage == 0) expected[key] = tensor.clone();
                EXPECT_TRUE(torch::equal(tensor, expected.at(key))) << key << " " << stage;
            }
        }
    }
}

TEST_F(Offloaded, OnACpuTheHostsMemoryIsTheDevices) {
    Layout layout;
    EXPECT_EQ(make_state_store(layout, torch::kCPU).value(), nullptr);
    layout.offload_optimizer = Offload::Cpu;
    EXPECT_EQ(make_state_store(layout, torch::kCPU).value(), nullptr);
    EXPECT_NE(make_state_store(layout, torch::Device(torch::kCUDA, 0)).value(), nullptr);
}

}  // namespace
}  // namespace plimsoll::engine
