// SPDX-License-Identifier: Apache-2.0
// Every setting that changes memory changes it under every framework, or the estimate says why not.
#include "core/frameworks/plan_settings.h"

#include <gmock/gmock.h>

#include <set>

#include "core/frameworks/estimate_under.h"
#include "core/plan/fields.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

/// Other values for each field of a plan, as --set takes them.
class Alternatives : public FieldVisitor {
public:
    std::vector<std::pair<std::string, std::string>> settings;  ///< key, value

    void begin(std::string_view key, std::string_view) override { prefix_.push_back(std::string(key) + "."); }
    void end() override { prefix_.pop_back(); }
    void integer(std::string_view key, std::int64_t& value, IntRange, std::string_view) override {
        for (const std::int64_t other :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{16}, 2 * value})
            if (other != value) add(key, std::to_string(other));
    }
    void number(std::string_view key, double& value, NumberRange, std::string_view) override {
        for (const double other : {0.0, 0.1, 0.5, 1.25})
            if (other != value) add(key, fmt::format("{}", other));
    }
    void text(std::string_view key, std::string&, std::string_view) override {
        if (key == "targets") add(key, "q_proj,v_proj");
    }
    void flag(std::string_view key, bool& value, std::string_view) override { add(key, value ? "false" : "true"); }
    void choice(std::string_view key, int& index, std::span<const std::string_view> names, std::string_view) override {
        for (std::size_t i = 0; i < names.size(); ++i)
            if (static_cast<int>(i) != index) add(key, std::string(names[i]));
    }

private:
    void add(std::string_view key, std::string value) {
        std::string whole;
        for (const auto& part : prefix_) whole += part;
        settings.emplace_back(whole + std::string(key), std::move(value));
    }
    std::vector<std::string> prefix_;
};

std::vector<std::pair<std::string, std::string>> alternatives(const Plan& plan) {
    Alternatives all;
    Plan copy = plan;
    visit_fields(all, copy);
    return all.settings;
}

/// Bytes of all terms and of the host's memory. (A total may stay where the optimizer's step hides what backward needs.)
std::vector<std::pair<std::string, Bytes>> figures(const MemoryEstimate& estimate) {
    std::vector<std::pair<std::string, Bytes>> bytes{{"host", estimate.host}};
    for (const auto& stage : estimate.stages)
        for (const auto& term : stage.terms) bytes.emplace_back(term.key, term.bytes);
    return bytes;
}

/// Whether device and host need 0.3 % more or less: small things, such as the input of the first norm under frozen
/// embeddings, are Plimsoll's own.
bool differs(const MemoryEstimate& a, const MemoryEstimate& b) {
    const auto sum = [](const MemoryEstimate& estimate) {
        return static_cast<double>(estimate.fullest().total() + estimate.host);
    };
    return std::abs(sum(a) - sum(b)) > 0.003 * sum(a);
}

/// The setting whose note speaks for `key` as well: of an optimizer that is not there, momentum means nothing.
std::string governing(const std::string& key) {
    if (key.starts_with("adapter.")) return "adapter.rank";
    if (key == "optimizer.momentum") return "optimizer.kind";
    if (key == "layout.chunks" || key == "layout.accumulation") return "layout.schedule";
    return key;
}

bool speaks_of(const MemoryEstimate& estimate, const std::string& key) {
    return std::any_of(estimate.notes.begin(), estimate.notes.end(), [&](const std::string& note) {
        return note.starts_with(key + " ") || note.starts_with(governing(key) + " ");
    });
}

std::optional<Plan> with(const Plan& plan, const std::string& setting) {
    auto changed = with_settings(plan, {setting});
    if (!changed) return std::nullopt;
    changed->cluster.gpus_per_node = changed->layout.world_size();
    return *std::move(changed);
}

/// The settings under which a framework's estimate neither follows Plimsoll's nor says why.
std::set<std::string> silent(Framework framework, const Plan& plan) {
    std::set<std::string> keys;
    const auto own_before = estimate_memory(plan);
    const auto before = estimate_under(framework, plan);
    EXPECT_TRUE(own_before && before) << name_of(framework);
    if (!own_before || !before) return keys;
    for (const auto& [key, value] : alternatives(plan)) {
        if (key.starts_with("cluster.")) continue;
        const auto changed = with(plan, key + "=" + value);
        if (!changed) continue;
        const auto own = estimate_memory(*changed);
        if (!own || !differs(*own, *own_before)) continue;
        const auto after = estimate_under(framework, *changed);
        // An error says what the framework cannot do.
        if (!after || figures(*after) != figures(*before)) continue;
        if (!speaks_of(*after, key) && !speaks_of(*before, key)) keys.insert(key + "=" + value);
    }
    return keys;
}

struct Case {
    const char* name;
    const char* preset;
    std::vector<std::string> settings;
};

class NoSilence : public testing::TestWithParam<Case> {};

TEST_P(NoSilence, EverySettingIsCountedOrNoted) {
    const auto plan = gpu_plan(GetParam().preset, GetParam().settings);
    for (const auto framework : frameworks) {
        if (!estimate_under(framework, plan)) continue;
        EXPECT_THAT(silent(framework, plan), testing::IsEmpty()) << name_of(framework);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, NoSilence,
    testing::Values(
        Case{"one_gpu", "llama-7b", {}},
        Case{"eager_dropout", "gpt2", {"numerics.attention=eager", "model.dropout=0.1"}},
        Case{"zero_3", "llama-3-8b", {"layout.dp=4", "layout.zero_stage=3", "layout.recompute=full"}},
        Case{"zero_2_offload", "llama-7b", {"layout.dp=4", "layout.zero_stage=2", "layout.offload_optimizer=cpu"}},
        Case{"sgd", "llama-7b", {"layout.dp=2", "layout.zero_stage=1", "optimizer.kind=sgd"}},
        Case{"pipeline",
             "llama-7b",
             {"layout.pp=4", "layout.tp=2", "layout.accumulation=8", "layout.schedule=interleaved-1f1b",
              "layout.recompute=full"}},
        Case{"experts", "mixtral-8x7b", {"layout.dp=4", "layout.ep=4", "layout.zero_stage=1"}},
        Case{"adapters", "qwen2.5-7b", {"adapter.rank=16"}}),
    [](const auto& plans) { return std::string(plans.param.name); });

TEST(PlanSettings, ANoteComesWithWhatIsCountedInstead) {
    for (const auto& setting : memory_settings())
        for (const auto framework : frameworks) {
            const auto& answer = setting.under(framework);
            EXPECT_TRUE(answer.instead == nullptr || !answer.note.empty()) << setting.key << " " << name_of(framework);
        }
    const auto plan = gpu_plan("llama-7b", {"layout.compress_activations=true", "layout.loss_chunks=8"});
    const auto trained = as_trained_by(Framework::Megatron, plan);
    EXPECT_FALSE(trained.plan.layout.compress_activations);
    EXPECT_EQ(trained.plan.layout.loss_chunks, 1);
    EXPECT_THAT(trained.notes, testing::IsSupersetOf({testing::StartsWith("layout.compress_activations is not in"),
                                                      testing::StartsWith("layout.loss_chunks is not in")}));
    EXPECT_TRUE(as_trained_by(Framework::Plimsoll, plan).notes.empty());
}

// qwen2.5-7b with LoRA of rank 16 on one RTX 4090: the frozen weights in 16 bits, no gradients, masters or moments of
// theirs.
TEST(PlanSettings, AdaptersUnderTheTrainerLeaveTheWeightsFrozen) {
    auto plan = gpu_plan("qwen2.5-7b", {"adapter.rank=16"});
    const auto own = estimated(plan).fullest();
    const auto trainer = estimate_under(Framework::HfTrainer, plan);
    ASSERT_TRUE(trainer);
    EXPECT_EQ(bytes_of_term(trainer->fullest(), "parameters"), 2 * 7'615'616'512);
    EXPECT_LT(trainer->fullest().of(Category::Optimizer), GiB);
    EXPECT_NEAR(static_cast<double>(trainer->fullest().total()), static_cast<double>(own.total()),
                0.35 * static_cast<double>(own.total()));
    for (const auto framework : {Framework::Megatron, Framework::TorchTitan}) {
        const auto estimate = estimate_under(framework, plan);
        ASSERT_TRUE(estimate);
        EXPECT_THAT(estimate->notes, testing::Contains(testing::StartsWith("adapter.rank is not in")));
    }
}

TEST(PlanSettings, MegatronsOffloadTakesMastersAndMomentsToTheHost) {
    const auto under = [](const std::vector<std::string>& settings) {
        return estimate_under(Framework::Megatron, gpu_plan("llama-7b", settings)).value();
    };
    const auto here = under({"layout.dp=8", "layout.zero_stage=1"});
    const auto away = under({"layout.dp=8", "layout.zero_stage=1", "layout.offload_optimizer=cpu"});
    EXPECT_EQ(here.fullest().of(Category::Optimizer), 12 * 6'738'415'616 / 8);
    EXPECT_EQ(away.fullest().of(Category::Optimizer), 0);
    EXPECT_EQ(away.host, 16 * 6'738'415'616 / 8);
    EXPECT_LT(away.fullest().total(), here.fullest().total());
}

TEST(PlanSettings, TorchtitanOffloadsTheOptimizerWithTheParametersOnly) {
    const auto under = [](const std::vector<std::string>& settings) {
        return estimate_under(Framework::TorchTitan, gpu_plan("llama-7b", settings)).value();
    };
    const std::vector<std::string> zero_3{"layout.dp=8", "layout.zero_stage=3"};
    const auto alone = under({"layout.dp=8", "layout.zero_stage=3", "layout.offload_optimizer=cpu"});
    EXPECT_EQ(figures(alone), figures(under(zero_3)));
    EXPECT_THAT(alone.notes, testing::Contains(testing::StartsWith("layout.offload_optimizer alone")));
    const auto both =
        under({"layout.dp=8", "layout.zero_stage=3", "layout.offload_optimizer=cpu", "layout.offload_parameters=cpu"});
    EXPECT_EQ(states(both.fullest()), 0);
    EXPECT_EQ(both.host, 16 * 6'738'415'616 / 8);
}

}  // namespace
}  // namespace plimsoll
