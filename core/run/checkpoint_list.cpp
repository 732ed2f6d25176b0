// SPDX-License-Identifier: Apache-2.0
#include "core/run/checkpoint_list.h"

#include <chrono>
#include <system_error>

#include "core/checkpoint/checkpoint_state.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/run/folder_bytes.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

double written_at(const fs::path& file) {
    std::error_code error;
    const auto time = fs::last_write_time(file, error);
    if (error) return 0;
    const auto system = std::chrono::file_clock::to_sys(time);
    return std::chrono::duration<double>(system.time_since_epoch()).count();
}

}  // namespace

std::vector<ListedCheckpoint> list_checkpoints(const RunLayout& run) {
    std::vector<ListedCheckpoint> all;
    for (const std::int64_t step : checkpoint_steps(run.checkpoints())) {
        ListedCheckpoint each;
        each.step = step;
        each.path = run.checkpoint(step);
        each.bytes = folder_bytes(each.path);
        each.saved = written_at(each.path / state_file);
        std::error_code ignored;
        each.adapter = fs::exists(each.path / adapter_file, ignored);
        const auto loss = stated_loss(each.path);
        each.complete = loss.has_value();
        if (loss) each.loss = *loss;
        all.push_back(std::move(each));
    }
    return all;
}

}  // namespace plimsoll
