// SPDX-License-Identifier: Apache-2.0
// What a diagnosis says, and a run folder whose records a test makes up.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/doctor/examine.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "core/telemetry/contract/run_layout.h"
#include "core/telemetry/writer.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {

inline const Finding* finding_of(const Diagnosis& diagnosis, const std::string& kind) {
    const auto at = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                 [&](const Finding& each) { return each.kind == kind; });
    return at == diagnosis.findings.end() ? nullptr : &*at;
}

inline ChecklistItem item_of(const Diagnosis& diagnosis, const std::string& id) {
    for (const ChecklistItem& item : diagnosis.checklist)
        if (item.id == id) return item;
    ADD_FAILURE() << "no line " << id;
    return {};
}

inline std::string kinds_of(const Diagnosis& diagnosis) {
    std::string all;
    for (const Finding& each : diagnosis.findings) all += each.kind + " ";
    return all;
}

/// Each change of each finding is taken and leaves the plan possible; the findings are worst first; every finding is on
/// the checklist.
inline void expect_sound(const Plan& plan, const Diagnosis& diagnosis) {
    for (const Finding& finding : diagnosis.findings) {
        EXPECT_FALSE(finding.title.empty()) << finding.kind;
        EXPECT_FALSE(finding.evidence.empty()) << finding.kind;
        EXPECT_EQ(item_of(diagnosis, finding.item).verdict, ItemVerdict::Found) << finding.kind;
        for (const FindingChange& change : finding.changes) {
            EXPECT_EQ(std::count_if(finding.changes.begin(), finding.changes.end(),
                                    [&](const FindingChange& each) { return each.settings == change.settings; }),
                      1)
                << finding.kind << " gives a change twice: " << change.settings.front();
            const auto changed = with_settings(plan, change.settings);
            ASSERT_TRUE(changed) << finding.kind << ": " << changed.error().message;
            EXPECT_FALSE(*changed == plan) << finding.kind << " changes nothing: " << change.settings.front();
            EXPECT_TRUE(check_plan(*changed).empty()) << finding.kind << ": " << check_plan(*changed)[0].sentence;
            EXPECT_FALSE(change.reason.empty()) << finding.kind;
        }
    }
    EXPECT_TRUE(std::is_sorted(diagnosis.findings.begin(), diagnosis.findings.end(),
                               [](const Finding& a, const Finding& b) { return a.severity < b.severity; }));
    for (const ChecklistItem& item : diagnosis.checklist) EXPECT_FALSE(item.words.empty()) << item.id;
}

/// One finding of this kind, that has at least one change and says the words in its title or evidence.
inline void expect_found(const Plan& plan, const Diagnosis& diagnosis, const std::string& kind,
                         const std::string& words, bool with_change = true) {
    expect_sound(plan, diagnosis);
    const Finding* finding = finding_of(diagnosis, kind);
    ASSERT_NE(finding, nullptr) << kind << " is not among " << kinds_of(diagnosis);
    std::string all = finding->title;
    for (const std::string& sentence : finding->evidence) all += " " + sentence;
    EXPECT_THAT(all, ::testing::HasSubstr(words));
    EXPECT_TRUE(!with_change || !finding->changes.empty()) << kind;
}

inline void expect_fine(const Plan& plan, const Diagnosis& diagnosis, const std::string& id) {
    expect_sound(plan, diagnosis);
    EXPECT_EQ(item_of(diagnosis, id).verdict, ItemVerdict::Fine) << id << ": " << item_of(diagnosis, id).words;
}

/// A run of 200 steps whose records are those of a good one, but for what a test changes.
class MadeUpRun {
public:
    explicit MadeUpRun(const std::filesystem::path& path) : path_(path) {
        plan = plan_from_argument("cpu-demo")->plan;
        plan.training.steps = 200;
        plan.guard.every = 1;
        plan.guard.clip = true;
        state.status = RunStatus::Finished;
        state.world_size = 2;
        state.started = 1000;
        state.ended = 1300;
        value[series::loss] = [](double step) { return 1.5 + 4 * std::exp(-step / 40); };
        value[series::lr] = [](double step) { return 3e-3 * std::min(step / 20, 1.0); };
        value[series::grad_norm] = [](double step) { return 0.8 + 0.1 * std::sin(step); };
        value[series::tokens_per_second] = [](double step) { return 1e4 + 50 * std::sin(3 * step); };
        value[series::step_time] = [](double step) { return 1 + 0.005 * std::sin(3 * step); };
        value[series::data_time] = [](double) { return 2e-3; };
        value[series::wait_time] = [](double step) { return 0.05 + 0.005 * std::sin(3 * step); };
        value[series::memory_peak] = value[series::memory] = [](double) { return 5e7; };
        value[series::loss_scale] = [](double) { return 1.0; };
        for (const char* layer : {"embed", "0", "1", "2", "3", "head"}) layers[layer] = [](double) { return 0.3; };
    }

    /// Writes it all, in place of what was there.
    RunFolder write() {
        std::filesystem::remove_all(RunLayout(path_).records());
        std::filesystem::create_directories(RunLayout(path_).records());
        EXPECT_TRUE(save_plan(RunLayout(path_).plan(), plan));
        const RunFolder run(path_);
        EXPECT_TRUE(run.write_state(state));
        for (int rank = 0; rank < 2; ++rank) {
            auto writer = TelemetryWriter::open(run.telemetry_path(rank));
            EXPECT_TRUE(writer);
            for (int step = 1; step <= steps; ++step) {
                std::vector<std::pair<std::string, double>> points;
                for (const auto& [name, of] : value) {
                    const bool own = name.ends_with("_time") || name.starts_with("memory");
                    const auto other = on_rank_1.find(name);
                    if (rank == 1 && other != on_rank_1.end())
                        points.emplace_back(name, other->second(step));
                    else if (rank == 0 || own)
                        points.emplace_back(name, of(step));
                }
                if (rank == 0 && (step == 1 || step % 10 == 0))
                    for (const auto& [name, of] : layers)
                        points.emplace_back(series::layer_norm_prefix + name, of(step));
                if (rank == 0 && step % 20 == 0 && validation)
                    points.emplace_back(series::validation_loss, validation(step));
                EXPECT_TRUE(writer->points(static_cast<std::uint64_t>(step), 1000 + step * seconds_a_step, points));
            }
            for (const Event& event : rank == 0 ? events : events_of_rank_1) EXPECT_TRUE(writer->event(event));
        }
        return run;
    }
    Diagnosis examined() {
        const auto diagnosis = examine_run(write());
        EXPECT_TRUE(diagnosis) << diagnosis.error().message;
        return diagnosis ? *diagnosis : Diagnosis{};
    }

    Plan plan;
    RunState state;
    int steps = 200;
    double seconds_a_step = 1.01;
    std::map<std::string, std::function<double(double step)>> value, on_rank_1, layers;
    std::function<double(double step)> validation = [](double step) { return 2 + 3 * std::exp(-step / 40); };
    std::vector<Event> events, events_of_rank_1;

private:
    std::filesystem::path path_;
};

}  // namespace plimsoll
