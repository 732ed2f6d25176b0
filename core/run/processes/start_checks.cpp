// SPDX-License-Identifier: Apache-2.0
// What is looked at before a process is started, so that an error comes at once and nothing is left behind.
#include "core/run/processes/start_checks.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/checkpoint/checkpoint_config.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/stored_checkpoint.h"
#include "core/data/corpus.h"
#include "core/data/sample_order.h"
#include "core/plan/adapter.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/plan/hugging_face/same_model.h"
#include "core/plan/machine.h"
#include "core/plan/plan_io.h"
#include "core/plan/trainable.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

/// Checkpoints a run keeps at once, the one being written included.
std::int64_t checkpoints_at_once(const Training& training) {
    const std::int64_t written = training.checkpoint_every > 0 ? training.steps / training.checkpoint_every + 1 : 1;
    return std::min(written, std::max<std::int64_t>(training.keep_checkpoints, 1) + 1);
}

/// Checkpoints that an earlier start of the run has left.
std::int64_t checkpoints_at(const fs::path& place) {
    return static_cast<std::int64_t>(checkpoint_steps(RunLayout(place).checkpoints()).size());
}

/// What is there looks like a checkpoint; whether its tensors fit the model is seen when they are read.
Result<void> is_checkpoint(const std::string& place) {
    std::error_code error;
    if (!fs::exists(place, error)) {
        return bad_input(
            "there is no folder {} (model.weights); give the folder of a checkpoint, or leave it empty for fresh weights",
            place);
    }
    for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".safetensors") return {};
    }
    if (find_checkpoint(place)) return {};
    return bad_input(
        "the folder {} (model.weights) holds no .safetensors file that can be seen, and no checkpoint of PyTorch or "
        "DeepSpeed; give the folder of a Hugging Face checkpoint",
        place);
}

std::vector<std::string> text_warnings(const Plan& plan) {
    std::vector<std::string> warnings;
    const auto text = read_corpus_beginning(plan.data, 0);
    if (!text) return warnings;  // check_start() says why
    const auto sequences =
        static_cast<std::int64_t>(SampleOrder(text->train_size, plan.data.sequence_length, 0).samples_per_epoch());
    const std::int64_t batch = plan.layout.global_batch();
    if (sequences < batch) {
        warnings.push_back(fmt::format(
            "the text is shorter than a batch: it holds {} of {} {} and a global batch takes {}, so each is in every "
            "batch {:.3g} times; give a longer text, or lower data.sequence_length or the global batch",
            sequences == 1 ? "1 sequence" : fmt::format("{} sequences", format_count(sequences)),
            format_count(plan.data.sequence_length), text->token_width == 1 ? "bytes" : "tokens", format_count(batch),
            static_cast<double>(batch) / static_cast<double>(sequences)));
    }
    const bool validates = plan.training.validate_every > 0 && plan.data.validation_fraction > 0;
    if (validates && static_cast<Bytes>(text->train_size) == text->size) {
        warnings.push_back(fmt::format(
            "nothing is kept for validation: {:g} % (data.validation_fraction) of the text's {} bytes are less than a "
            "sequence of {} and the byte after it; give a longer text or a larger fraction",
            100 * plan.data.validation_fraction, format_count(text->size), format_count(plan.data.sequence_length)));
    }
    return warnings;
}

/// A checkpoint, of the plan's model where a config.json tells.
Result<void> check_weights(const Plan& plan) {
    const std::string& place = plan.model.weights;
    if (place.empty()) return {};
    PLIMSOLL_CHECK(is_checkpoint(place));
    const fs::path config = checkpoint_config(place);
    if (config.empty()) return {};
    const std::string who = fmt::format("the model in {} (model.weights)", place);
    auto same = require_same_model(config, plan, who);
    const auto there = import_hf_config(config);
    if (same || !there) return same;
    // The plan with the file's values has to be one that trains, or they would be taken in vain.
    Plan theirs = plan;
    theirs.model = there->model;
    theirs.data.sequence_length = std::min(plan.data.sequence_length, there->model.max_position);
    const auto trainable = require_trainable(theirs);
    return trainable ? same : bad_input("the engine cannot run {}: {}", who, trainable.error().message);
}

/// A tokenizer beside the weights says that they were trained on other tokens than a run's.
void warn_of_tokenizer(const fs::path& folder, std::vector<std::string>& warnings) {
    for (const char* file : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json"}) {
        std::error_code error;
        if (!fs::exists(folder / file, error)) continue;
        warnings.push_back(fmt::format(
            "{} (model.weights) has a tokenizer ({}), and a run reads text as bytes, each a token: the weights "
            "meet other tokens than they were trained on",
            folder.string(), file));
        return;
    }
}

/// What a start from weights, or from a config.json that was imported, does not take over.
void warn_of_origin(const Plan& plan, std::vector<std::string>& warnings) {
    const std::string& place = plan.model.weights;
    if (place.empty()) {
        for (const KeyFinding& each : kept_findings(plan))
            warnings.push_back(
                fmt::format("the plan's model comes from a config.json whose {}; the run trains, and "
                            "exports, the model without that",
                            each.sentence));
        return;
    }
    warn_of_tokenizer(place, warnings);
    const fs::path config = checkpoint_config(place);
    if (config.empty()) {
        warnings.push_back(
            fmt::format("{} (model.weights) has no config.json: nothing tells whether its rotary base, epsilon and "
                        "activation are the plan's",
                        place));
        return;
    }
    for (std::string& each : weights_warnings(config, plan)) warnings.push_back(std::move(each));
}

}  // namespace

Bytes checkpoint_room(const Plan& plan, const fs::path& place) {
    const std::int64_t to_come = std::max<std::int64_t>(checkpoints_at_once(plan.training) - checkpoints_at(place), 1);
    // Weights and Adam's two moments, in fp32: 12 bytes a parameter.
    return trained_parameters(plan) * 12 * to_come;
}

Result<void> check_start(const Plan& plan, const fs::path& place) {
    if (auto possible = require_possible(plan); !possible) return possible;
    if (auto trainable = require_trainable_here(plan); !trainable) return trainable;
    auto weights = check_weights(plan);
    if (weights && !plan.adapter.weights.empty()) weights = require_same_adapter(plan.adapter.weights, plan);
    if (!weights) return weights;
    if (plan.layout.pp > 1) {
        PLIMSOLL_CHECK(plan_schedule(plan));
    }
    PLIMSOLL_TRY(const auto corpus, load_corpus(plan.data));
    PLIMSOLL_CHECK(require_vocabulary(corpus, plan));

    const Bytes needed = checkpoint_room(plan, place);
    fs::path there = fs::absolute(place);
    std::error_code error;
    while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
    const fs::space_info space = fs::space(there, error);
    // A place without blocks (/proc) is no disk: that nothing can be made there is said when it is tried.
    if (!error && space.capacity > 0 && space.available < static_cast<std::uintmax_t>(needed) + 1 * MiB) {
        return bad_input(
            "the disk is too full: the checkpoints of this run need {} at {}, {} are free; free some room, "
            "choose another place with --run, or set training.keep_checkpoints=1",
            format_bytes(needed), there.string(), format_bytes(static_cast<Bytes>(space.available)));
    }
    return {};
}

std::vector<std::string> start_warnings(const Plan& plan) {
    std::vector<std::string> warnings = text_warnings(plan);
    warn_of_origin(plan, warnings);
    if (!plan.cluster.on_cpu()) return warnings;
    const Machine machine = probe_machine();
    const std::int64_t ranks = plan.layout.world_size();
    const std::int64_t threads = ranks * std::max<std::int64_t>(plan.training.threads, 1);
    if (machine.cores > 0 && threads > machine.cores) {
        warnings.push_back(
            fmt::format("{} ranks of {} threads share {} cores: the run works, but slowly; fewer ranks "
                        "or threads are faster",
                        ranks, plan.training.threads, machine.cores));
    }
    return warnings;
}

}  // namespace plimsoll
