// SPDX-License-Identifier: Apache-2.0
// The conformance matrix: every parallel strategy and their combinations train as one rank does.
#include <gtest/gtest.h>

#include "tests/conformance/layout_run.h"

namespace plimsoll::engine {
namespace {

struct Case {
    std::string preset;
    std::string name;
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.preset << " " << each.name; }

std::vector<Case> cases() {
    std::vector<Case> all;
    const auto add = [&](const std::vector<const char*>& presets, const std::vector<const char*>& layouts) {
        for (const char* preset : presets) {
            for (const char* layout : layouts) all.push_back({preset, layout});
        }
    };
    const std::vector<const char*> every{"gpt2", "llama-7b", "llama-2-70b", "qwen2.5-7b"};
    // each alone
    add(every, {"dp=2", "dp=4", "tp=2", "tp=2 sp", "pp=2", "cp=2"});
    add({"gpt2", "llama-2-70b"},
        {"tp=4", "tp=4 sp", "cp=4", "dp=2 zero=1", "dp=2 zero=2", "dp=2 zero=3", "dp=4 zero=3"});
    // schedules
    add({"gpt2", "llama-2-70b"},
        {"pp=2 schedule=gpipe", "pp=4 schedule=1f1b", "pp=2 schedule=interleaved-1f1b", "pp=2 schedule=breadth-first",
         "pp=2 schedule=zb-h1", "pp=4 schedule=zb-h2", "pp=2 schedule=zb-1p", "pp=2 schedule=zb-2p",
         "pp=2 schedule=zb-v", "pp=2 schedule=v-half", "pp=2 schedule=v-min", "pp=2 schedule=dualpipe-v"});
    // pairs
    add({"gpt2", "llama-2-70b"},
        {"dp=2 tp=2", "dp=2 tp=2 sp", "dp=2 pp=2", "dp=2 cp=2", "tp=2 pp=2", "tp=2 sp pp=2", "tp=2 cp=2",
         "tp=2 sp cp=2", "pp=2 cp=2", "dp=2 tp=2 zero=1", "dp=2 tp=2 sp zero=3", "dp=2 cp=2 zero=2", "dp=2 pp=2 zero=1",
         "dp=2 pp=2 schedule=zb-h1", "dp=2 pp=2 schedule=zb-v zero=1", "tp=2 pp=2 schedule=interleaved-1f1b"});
    // three and more
    add({"gpt2", "llama-2-70b"}, {"dp=2 tp=2 pp=2", "dp=2 tp=2 sp pp=2 zero=1", "tp=2 pp=2 cp=2",
                                  "dp=2 tp=2 cp=2 zero=3", "dp=2 tp=2 sp pp=2 schedule=zb-v"});
    // experts
    add({"mixtral-8x7b"}, {"dp=2", "dp=2 ep=2", "dp=4 ep=2", "dp=4 ep=4", "tp=2", "tp=2 sp", "dp=2 ep=2 tp=2",
                           "dp=2 ep=2 tp=2 sp", "cp=2", "pp=2", "dp=2 ep=2 pp=2", "dp=2 ep=2 zero=1",
                           "dp=4 ep=2 zero=2", "dp=4 ep=2 zero=3", "dp=2 ep=2 pp=2 schedule=zb-h1"});
    return all;
}

const LayoutRun& reference(const Plan& plan, const std::string& preset) {
    static std::map<std::string, LayoutRun> runs;
    LayoutRun& run = runs[preset];
    if (run.losses.empty()) run = run_layout(on_one_rank(plan), 10);
    return run;
}

class Layouts : public ::testing::TestWithParam<Case> {};

TEST_P(Layouts, TrainAsOneRankDoes) {
    const Plan plan = conformance_plan(GetParam().preset, GetParam().name);
    const LayoutRun& one = reference(plan, GetParam().preset);
    const LayoutRun run = run_layout(plan, 10);
    ASSERT_TRUE(run.failure.empty()) << run.failure;
    std::string where;
    EXPECT_LT(largest_relative_difference(run.gradients, one.gradients, &where), 1e-5) << where;
    for (std::size_t step = 0; step < one.losses.size(); ++step) {
        EXPECT_NEAR(run.losses[step], one.losses[step], 1e-5) << "step " << step;
        EXPECT_NEAR(run.grad_norms[step] / one.grad_norms[step], 1, step == 0 ? 1e-6 : 1e-4) << "step " << step;
    }
    EXPECT_LT(largest_difference(run.weights, one.weights), 1e-4);
    EXPECT_LT(largest_difference(run.optimizer, one.optimizer), 1e-4);
    EXPECT_NEAR(run.validation_loss, one.validation_loss, 1e-4);
    EXPECT_LT((run.next_logits - one.next_logits).abs().max().item<double>(), 1e-3);
    EXPECT_LT(one.losses.back(), one.losses.front());
    EXPECT_TRUE(run.tied_alike);
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
    std::string name = info.param.preset + "_" + info.param.name;
    for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(Matrix, Layouts, ::testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace plimsoll::engine
