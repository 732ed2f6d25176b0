// SPDX-License-Identifier: Apache-2.0
// All-reduce between ranks of this machine, in shared memory and through Gloo: the ranks are processes.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "core/engine/ranks/collectives.h"
#include "tests/support/run_harness.h"

namespace plimsoll::engine {
namespace {

/// Median seconds of one all-reduce of `bytes` in fp32.
Seconds measure(Collectives& group, std::int64_t bytes, int times) {
    torch::Tensor numbers = at::zeros({bytes / 4});
    std::vector<Seconds> taken;
    for (int i = 0; i < times; ++i) {
        must(group.barrier());
        const auto begin = std::chrono::steady_clock::now();
        must(group.all_reduce_sum(numbers)->wait());
        taken.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(taken.begin(), taken.begin() + times / 2, taken.end());
    return taken[static_cast<std::size_t>(times / 2)];
}

void run_rank(int rank, int world_size, int port) {
    at::set_num_threads(1);
    RankInfo info;
    info.secret = "of this benchmark";
    info.rank = info.local_rank = rank;
    info.world_size = world_size;
    info.master_port = port;
    for (const bool shared : {true, false, true, false}) {
        ::setenv("PLIMSOLL_SHARED_MEMORY", shared ? "1" : "0", 1);
        ++info.attempt;
        auto group = make_collectives(info, 30);
        if (!group) throw CollectiveError(group.error().message);
        for (const auto& [bytes, times] :
             {std::pair{std::int64_t{4}, 1000}, {64 * KiB, 500}, {1 * MiB, 200}, {25 * MiB, 40}}) {
            const Seconds median = measure(**group, bytes, times);
            if (rank != 0) continue;
            fmt::print("{:>6}  {:>8} x {}  {:>10}  {:6.2f} GiB/s\n", shared ? "shared" : "Gloo", format_bytes(bytes),
                       world_size, format_seconds(median), static_cast<double>(bytes) / median / GiB);
            std::fflush(stdout);
        }
        must((*group)->barrier());
    }
}

}  // namespace
}  // namespace plimsoll::engine

int main(int argc, char** argv) {
    const int world_size = argc > 1 ? std::atoi(argv[1]) : 2;
    const plimsoll::testing::Store store;
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < world_size; ++rank) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            try {
                plimsoll::engine::run_rank(rank, world_size, store.port());
            } catch (const std::exception& error) {
                fmt::print(stderr, "rank {}: {}\n", rank, error.what());
                ::_exit(1);
            }
            ::_exit(0);
        }
        ranks.push_back(pid);
    }
    int failures = 0;
    for (const pid_t pid : ranks) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        failures += status == 0 ? 0 : 1;
    }
    return failures == 0 ? 0 : 1;
}
