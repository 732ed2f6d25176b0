// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/checkpoint.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/base/json.h"
#include "core/engine/base/without_exceptions.h"
#include "core/engine/weights/hf_export.h"
#include "core/engine/weights/peft_weights.h"
#include "core/engine/weights/safetensors.h"
#include "core/plan/adapter.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/plan/hugging_face/same_model.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::engine {

namespace fs = std::filesystem;

namespace {

fs::path hidden(const fs::path& checkpoints, std::int64_t step, std::string_view purpose) {
    return checkpoints / hidden_checkpoint_name(step, purpose);
}

void remove_left_behind(const fs::path& checkpoints) {
    std::vector<fs::path> left;
    std::error_code error;
    for (auto it = fs::directory_iterator(checkpoints, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (is_hidden_checkpoint(it->path().filename().string())) left.push_back(it->path());
    }
    for (const fs::path& path : left) fs::remove_all(path, error);
}

Result<void> write_files(const fs::path& folder, const CheckpointContents& contents, const Plan& plan) {
    // transformers wants to know which framework wrote the file.
    const bool adapter = adapts(plan);
    const char* const weights_file = adapter ? adapter_file : model_file;
    std::vector<std::string> files{weights_file, optimizer_file, config_file};
    auto done = write_safetensors(folder / weights_file, adapter ? with_peft_names(contents.weights) : contents.weights,
                                  {{"format", "pt"}});
    if (!done) return done;
    if (adapter) {
        files.emplace_back(adapter_config_file);
        if (done = write_json(folder / adapter_config_file, peft_config(plan)); !done) return done;
    }
    if (done = write_safetensors(folder / optimizer_file, contents.optimizer); !done) return done;
    if (done = write_json(folder / config_file, hf_config(plan)); !done) return done;
    if (done = write_state(folder, {contents.state, contents.optimizer_steps}, files); !done) return done;
    return sync_folder(folder);
}

/// Moves the finished folder to its final name. An existing folder of that name changes places with it in the same
/// moment.
Result<void> put_in_place(const fs::path& made, const fs::path& final) {
    if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, final.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno == EEXIST && ::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) == 0) {
        return {};
    }
    // File systems without these flags (NFS): the old folder is renamed first.
    std::error_code error;
    if (fs::exists(final, error)) fs::rename(final, made.string() + ".old", error);
    if (!error) fs::rename(made, final, error);
    if (error) return bad_input("cannot put {} in place: {}", final.string(), error.message());
    return {};
}

void keep_newest(const fs::path& checkpoints, std::int64_t step, std::int64_t keep) {
    std::int64_t kept = 0;
    for (const std::int64_t each : checkpoint_steps(checkpoints)) {
        if (each > step || ++kept <= std::max<std::int64_t>(keep, 1)) continue;
        // Hidden in one move, so that no half-removed checkpoint is ever visible.
        std::error_code error;
        fs::rename(checkpoints / checkpoint_name(each), hidden(checkpoints, each, "old"), error);
    }
    remove_left_behind(checkpoints);
}

}  // namespace

Result<fs::path> save_checkpoint(const fs::path& checkpoints, const CheckpointContents& contents, const Plan& plan,
                                 std::int64_t keep) {
    const std::int64_t step = contents.state.step;
    return without_exceptions("save a checkpoint", [&]() -> Result<fs::path> {
        std::error_code error;
        fs::create_directories(checkpoints, error);
        remove_left_behind(checkpoints);
        const fs::path made = hidden(checkpoints, step, "new");
        if (!error) fs::create_directory(made, error);
        if (error) return bad_input("cannot save a checkpoint in {}: {}", checkpoints.string(), error.message());

        const fs::path final = checkpoints / checkpoint_name(step);
        auto done = write_files(made, contents, plan);
        if (done) done = put_in_place(made, final);
        if (done) done = sync_folder(checkpoints);
        if (!done) {
            remove_left_behind(checkpoints);
            return tl::unexpected(done.error());
        }
        keep_newest(checkpoints, step, keep);
        return final;
    });
}

Result<CheckpointContents> read_checkpoint(const fs::path& checkpoint, const Plan& plan) {
    return without_exceptions("load " + checkpoint.string(), [&]() -> Result<CheckpointContents> {
        PLIMSOLL_TRY(const auto document, verified_state(checkpoint));
        if (std::error_code none; fs::exists(checkpoint / config_file, none)) {
            PLIMSOLL_CHECK(require_same_model(checkpoint / config_file, plan,
                                              fmt::format("the model of the checkpoint {}", checkpoint.string())));
        }
        const std::filesystem::path file = checkpoint / (adapts(plan) ? adapter_file : model_file);
        PLIMSOLL_TRY(auto weights, read_safetensors(file));
        if (adapts(plan)) weights = without_peft_names(std::move(weights));
        std::int64_t numbers = 0;
        for (const auto& [name, tensor] : weights) numbers += tensor.numel();
        const std::int64_t expected = trained_parameters(plan);
        if (numbers != expected) {
            return bad_input("{} holds {} numbers and the plan's {} {}; it is of another model", file.string(),
                             format_count(numbers), adapts(plan) ? "adapters" : "model", format_count(expected));
        }
        PLIMSOLL_TRY(auto moments, read_safetensors(checkpoint / optimizer_file));
        return CheckpointContents{document.state, document.optimizer_steps, std::move(weights), std::move(moments)};
    });
}

}  // namespace plimsoll::engine
