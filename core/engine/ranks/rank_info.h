// SPDX-License-Identifier: Apache-2.0
// Who this process is among the ranks, and where they meet. No LibTorch here.
#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll::engine {

/// Where this process stands, from RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun, our supervisor)
/// or SLURM_PROCID, SLURM_LOCALID, SLURM_NTASKS. Without any of them: the only rank.
struct RankInfo {
    int rank = 0;
    int local_rank = 0;
    int world_size = 1;
    std::string master_addr = "127.0.0.1";
    int master_port = 0;
    /// TORCHELASTIC_RESTART_COUNT: torchrun keeps its store over restarts, so each attempt has keys of its own.
    int attempt = 0;
    /// TORCHELASTIC_USE_AGENT_STORE=False: nobody serves the store, so rank 0 has to.
    bool rank0_serves_store = false;
    /// False where the ranks are threads of one process, whose processor time tells nothing of one of them.
    bool own_process = true;
    /// Known to the ranks of this run alone (run_secret.h).
    std::string secret;
    static Result<RankInfo> from_environment();
};

/// Serves a c10d TCPStore until stdin closes: the supervisor keeps it in a process of its own, so that it outlives
/// any rank. Prints the port in one line (port 0: any free one). Only programs of this machine reach it at `host`
/// 127.0.0.1; several machines need 0.0.0.0 or the address of a trusted network, where what strangers write into the store ends the run at worst
/// (sealed_store.h).
Result<void> serve_store(int port, const std::string& host = "127.0.0.1");

}  // namespace plimsoll::engine
