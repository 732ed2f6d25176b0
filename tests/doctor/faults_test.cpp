// SPDX-License-Identifier: Apache-2.0
// Real runs of two ranks with a fault put in: the doctor names it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "core/doctor/examine.h"
#include "core/run/processes/process.h"
#include "tests/support/doctor_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class DoctorOfFaults : public ::testing::Test {
protected:
    void SetUp() override {
        std::string text;
        for (int i = 0; i < 2000; ++i) text += "In the beginning was the word. ";
        put_contents(folder / "corpus.txt", text);
    }

    /// Trains llama-tiny for 6 steps; the run's diagnosis and plan.
    Diagnosis trained(const std::string& fault, const std::vector<std::string>& settings = {}) {
        ProcessOptions options;
        options.arguments = {PLIMSOLL_BIN_DIR "/plimsoll",
                             "train",
                             "cpu-demo",
                             "--steps",
                             "6",
                             "--data",
                             (folder / "corpus.txt").string(),
                             "--run",
                             (folder / "run").string(),
                             "--inject",
                             fault,
                             "--set",
                             "training.validate_every=0",
                             "training.sample_every=0",
                             "lr.warmup_steps=3",
                             "training.layer_norms_every=2"};
        options.arguments.insert(options.arguments.end(), settings.begin(), settings.end());
        auto process = Process::start(options);
        EXPECT_TRUE(process);
        while (!process->end()) ::usleep(5'000);
        const RunFolder run(folder / "run");
        plan = *run.plan();
        const auto diagnosis = examine_run(run);
        EXPECT_TRUE(diagnosis) << diagnosis.error().message;
        expect_sound(plan, *diagnosis);
        return *diagnosis;
    }

    TempFolder folder;
    Plan plan;
};

TEST_F(DoctorOfFaults, ANanIsFoundInItsLayer) {
    const Diagnosis diagnosis = trained("nan@step=5,layer=1");
    expect_found(plan, diagnosis, "nonfinite-steps", "layer 1 (the output of layer 1), in the forward pass");
    EXPECT_THAT(finding_of(diagnosis, "nonfinite-steps")->title, HasSubstr("at step 5"));
}

TEST_F(DoctorOfFaults, ARankWithoutMemoryIsNamed) {
    const Diagnosis diagnosis = trained("oom@step=3,rank=1");
    expect_found(plan, diagnosis, "out-of-memory", "Rank 1 ran out of memory in step 3.");
    EXPECT_THAT(finding_of(diagnosis, "out-of-memory")->changes[0].reason, HasSubstr("saves"));
    // Which op's tensors stand at the peak, by a dry run.
    expect_found(plan, diagnosis, "out-of-memory", "A dry run of the rank has its peak of ");
    expect_found(plan, diagnosis, "out-of-memory", "of aten::mm in forward 0");
}

TEST_F(DoctorOfFaults, ASlowRankOfAPipelineIsNamed) {
    const std::vector<std::string> piped{"layout.dp=1", "layout.pp=2", "layout.micro_batch=2",
                                         "data.sequence_length=32", "layout.accumulation=4"};
    expect_found(plan, trained("slow-rank@step=1,rank=1,ms=500", piped), "straggler", "Rank 1 is");
}

TEST_F(DoctorOfFaults, ASlowRankIsNamedAmongThoseThatShareGradients) {
    expect_found(plan, trained("slow-rank@step=1,rank=1,ms=300"), "straggler", "Rank 1 is", /*with_change=*/false);
}

}  // namespace
}  // namespace plimsoll
