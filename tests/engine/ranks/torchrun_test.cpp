// SPDX-License-Identifier: Apache-2.0
// PyTorch's own launcher starts the workers.
#include <gtest/gtest.h>

#include <csignal>

#include "core/base/json.h"
#include "tests/support/run_harness.h"

namespace plimsoll::testing {
namespace {

TEST(Torchrun, StartsTheWorkersAndStartsThemAgainWhenOneIsKilled) {
    const std::filesystem::path torchrun = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / ".deps/venv/bin/torchrun";
    ASSERT_TRUE(std::filesystem::exists(torchrun)) << "packaging/setup --peers brings torchrun";
    const TemporaryFolder folder;
    const std::filesystem::path run = folder.path() / "run";
    Plan restarted = small_plan("llama-tiny", write_corpus(folder.path()));
    restarted.layout.dp = restarted.cluster.gpus_per_node = 2;
    restarted.layout.micro_batch = 4;
    restarted.training.steps = 600;
    restarted.training.checkpoint_every = 50;
    write_plan(run, restarted);
    Child launcher(torchrun,
                   {"--no-python", "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "--monitor-interval",
                    "0.1", worker_program().string(), run.string()},
                   {}, folder.path() / "out", folder.path() / "err");
    ASSERT_TRUE(wait_for_points(run, series::loss, 120)) << launcher.errors();
    const pid_t rank0 = events_of(recorded(run), EventKind::Start).at(0).details.at("pid").get<pid_t>();
    ASSERT_EQ(::kill(rank0, SIGKILL), 0);
    EXPECT_EQ(launcher.wait(), 0) << launcher.errors();

    const auto store = recorded(run);
    ASSERT_EQ(events_of(store, EventKind::Resume).size(), 1U);
    EXPECT_GE(events_of(store, EventKind::Resume)[0].step, 100U);
    const auto* loss = store.find(series::loss);
    ASSERT_EQ(loss->size(), 600U) << "each step once: what the killed attempt did after its checkpoint is taken back";
    EXPECT_EQ(loss->step(599), 600U);
}

}  // namespace
}  // namespace plimsoll::testing
