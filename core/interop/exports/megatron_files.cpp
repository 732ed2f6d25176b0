// SPDX-License-Identifier: Apache-2.0
// Data, validation, checkpoints and logs in Megatron-LM's arguments.
#include <filesystem>

#include "core/interop/exports/megatron_parts.h"

namespace plimsoll::exports::megatron_lm {

namespace {

/// The vocabulary of a tokenizer is not that of the model, whose rows are written: Qwen2.5's model has 152,064 rows for
/// its tokenizer's 151,665 words.
void tokenizer(CommandLine& line, const Plan& plan, Notes& notes) {
    const std::int64_t size = plan.model.vocab_size, tp = plan.layout.tp;
    if (plan.model.weights.empty()) {
        line.option("--vocab-size", size)
            .option("--make-vocab-size-divisible-by", std::int64_t{1})
            .option("--tokenizer-type", "NullTokenizer");
        return;
    }
    line.option("--tokenizer-type", "HuggingFaceTokenizer")
        .option("--tokenizer-model", plan.model.weights)
        .option("--padded-vocab-size", (size + tp - 1) / tp * tp);
    notes.push_back(
        fmt::format("Megatron-LM reads no Hugging Face folder: convert model.weights first, with Megatron Bridge's "
                    "AutoBridge.import_ckpt(\"{}\", \"out/{}/pretrained\"), which --pretrained-checkpoint names.",
                    plan.model.weights, job_name(plan)));
}

/// Megatron-LM's own form of a text lies in PREFIX.bin and PREFIX.idx.
std::string data_prefix(const std::filesystem::path& path) {
    if (path.extension() == ".bin" || path.extension() == ".idx")
        return std::filesystem::path(path).replace_extension().string();
    const std::string stem = path.stem().empty() ? path.parent_path().filename().string() : path.stem().string();
    return fmt::format("{}_text_document", stem.empty() ? "data" : stem);
}

void data(CommandLine& line, const Plan& plan, Notes& notes) {
    const double share = plan.data.validation_fraction;
    line.option("--split", fmt::format("{},{},0", digits(100 * (1 - share)), digits(100 * share)));
    if (plan.data.path == Data{}.path) {
        line.flag("--mock-data");
        notes.push_back(
            fmt::format("The data are random numbers (--mock-data): write --data-path with a preprocessed "
                        "corpus{}.",
                        plan.model.weights.empty() ? ", and the tokenizer of that corpus in place of NullTokenizer"
                                                   : " of the same tokenizer"));
        return;
    }
    const std::string prefix = data_prefix(plan.data.path);
    line.option("--data-path", prefix);
    if (prefix + ".bin" == plan.data.path || prefix + ".idx" == plan.data.path) return;
    notes.push_back(fmt::format(
        "--data-path names what tools/preprocess_data.py of Megatron-LM makes of data.path {} (JSON lines with a \"text\" "
        "key): --output-prefix {} --append-eod, with {}.",
        plan.data.path, prefix.substr(0, prefix.rfind("_text_document")),
        plan.model.weights.empty() ? "the tokenizer that then stands in place of NullTokenizer"
                                   : "the same tokenizer"));
}

void validation(CommandLine& line, const Plan& plan, Notes& notes) {
    constexpr std::int64_t batches = 10;
    const bool validates = plan.training.validate_every > 0 && plan.data.validation_fraction > 0;
    line.option("--eval-iters", validates ? batches : 0);
    if (!validates) return;
    line.option("--eval-interval", plan.training.validate_every);
    notes.push_back(fmt::format(
        "Megatron-LM validates on --eval-iters {} batches every training.validate_every {} steps, not on all of the "
        "validation part.",
        batches, plan.training.validate_every));
}

/// A checkpoint at the end is part of every run: without an interval it is the only one.
void checkpoints(CommandLine& line, const Plan& plan, Notes& notes) {
    const Training& training = plan.training;
    const std::string folder = fmt::format("out/{}", job_name(plan));
    line.option("--save", folder + "/checkpoints")
        .option("--save-interval", training.checkpoint_every > 0 ? training.checkpoint_every : training.steps)
        .option("--load", folder + "/checkpoints");
    if (!plan.model.weights.empty()) line.option("--pretrained-checkpoint", folder + "/pretrained");
    line.option("--tensorboard-dir", folder + "/tensorboard").option("--log-interval", std::int64_t{1});
    if (training.checkpoint_every > 0 && training.keep_checkpoints > 0) {
        notes.push_back(fmt::format(
            "Every checkpoint stays, where training.keep_checkpoints is {}: --save-retain-interval deletes all but the "
            "last and the multiples of a number of steps.",
            training.keep_checkpoints));
    }
}

}  // namespace

void data_and_files(CommandLine& line, const Plan& plan, Notes& notes) {
    tokenizer(line, plan, notes);
    data(line, plan, notes);
    validation(line, plan, notes);
    checkpoints(line, plan, notes);
}

}  // namespace plimsoll::exports::megatron_lm
