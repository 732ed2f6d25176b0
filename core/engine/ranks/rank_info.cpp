// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/rank_info.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace plimsoll::engine {

namespace {

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

Result<int> whole_number(const char* name, int lowest, int highest) {
    const auto value = variable(name);
    if (!value) return bad_input("{} is not set; start the workers with plimsoll train, torchrun or srun", name);
    int number = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc() || end != value->data() + value->size() || number < lowest || number > highest) {
        return bad_input("{} is \"{}\"; it has to be a whole number from {} to {}", name, *value, lowest, highest);
    }
    return number;
}

constexpr int most_ranks = 1'000'000;

}  // namespace

Result<RankInfo> RankInfo::from_environment() {
    // Inside a Slurm job torchrun's variables win, because torchrun started this process.
    const bool torchrun = variable("RANK") || variable("WORLD_SIZE");
    const bool slurm = variable("SLURM_PROCID") && variable("SLURM_NTASKS");
    RankInfo info;
    if (!torchrun && !slurm) return info;

    PLIMSOLL_TRY(const auto world_size, whole_number(torchrun ? "WORLD_SIZE" : "SLURM_NTASKS", 1, most_ranks));
    PLIMSOLL_TRY(const auto rank, whole_number(torchrun ? "RANK" : "SLURM_PROCID", 0, world_size - 1));
    PLIMSOLL_TRY(const auto local_rank, whole_number(torchrun ? "LOCAL_RANK" : "SLURM_LOCALID", 0, world_size - 1));
    info.world_size = world_size;
    info.rank = rank;
    info.local_rank = local_rank;
    if (info.world_size == 1) return info;

    PLIMSOLL_TRY(const auto port, whole_number("MASTER_PORT", 1, 65535));
    info.master_port = port;
    const auto address = variable("MASTER_ADDR");
    if (!address) {
        return bad_input(
            "MASTER_ADDR is not set; it has to be the address of the machine that serves the store "
            "(plimsoll-worker --store)");
    }
    info.master_addr = *address;
    if (variable("TORCHELASTIC_RESTART_COUNT")) {
        PLIMSOLL_TRY(const auto attempt, whole_number("TORCHELASTIC_RESTART_COUNT", 0, most_ranks));
        info.attempt = attempt;
    }
    info.rank0_serves_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "False";
    return info;
}

}  // namespace plimsoll::engine
