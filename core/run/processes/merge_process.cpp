// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/merge_process.h"

#include "core/plan/plan_io.h"
#include "core/run/processes/worker_process.h"

namespace plimsoll {

Result<void> merge_adapter(const Plan& plan, const std::filesystem::path& adapter, const std::filesystem::path& out) {
    PLIMSOLL_CHECK(ask_worker({"--merge", adapter.string(), "--out", out.string()}, to_json(plan).dump(),
                              "adding an adapter to its model"));
    return {};
}

}  // namespace plimsoll
