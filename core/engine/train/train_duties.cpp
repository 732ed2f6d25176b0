// SPDX-License-Identifier: Apache-2.0
// What a training run does beside its steps: starting where it left off, recording, validating, samples, checkpoints.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/version.h"
#include "core/engine/memory/memory_counter.h"
#include "core/engine/train/generate.h"
#include "core/engine/train/train_loop.h"
#include "core/engine/weights/hf_weights.h"
#include "core/engine/weights/peft_weights.h"
#include "core/plan/adapter.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/plan/parameters.h"

namespace plimsoll::engine {

namespace {

/// How long the others wait while rank 0 writes or reads a checkpoint or a sample: a large model's takes minutes.
constexpr Seconds patience = 30 * 60;

constexpr std::int64_t sample_length = 160;
constexpr double sample_temperature = 0.8;
constexpr std::size_t most_routings = 4096;  ///< of a step, in an event
constexpr std::int64_t lines_every = 10;     ///< steps between lines in the log

std::filesystem::path checkpoint_path(const std::filesystem::path& run, std::int64_t step) {
    return run / "checkpoints" / fmt::format("step-{:08}", step);
}

Bytes size_of(const std::filesystem::path& folder) {
    std::error_code error;
    Bytes bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const auto size = entry.file_size(error);
        if (!error) bytes += static_cast<Bytes>(size);
    }
    return bytes;
}

}  // namespace

Result<void> TrainLoop::tell(const char* kind, const std::string& sentence, Json details) {
    return tell_at(updates_, kind, sentence, std::move(details));
}

Result<void> TrainLoop::tell_at(std::int64_t step, const char* kind, const std::string& sentence, Json details) {
    if (!first_rank()) return {};
    fmt::print("{}\n", sentence);
    std::fflush(stdout);
    return recorder_.event(step, kind, sentence, std::move(details));
}

Result<void> TrainLoop::on_first_rank(const char* what, const std::function<Result<void>()>& work) {
    Result<void> done;
    if (first_rank()) done = work();
    const torch::Tensor failure = torch::full({1}, done ? 0 : 1, torch::dtype(torch::kInt64).device(device_));
    auto sent = collectives_.broadcast(failure, 0, patience);
    if (!done || !sent) return done ? sent : done;
    if (failure.item<std::int64_t>() != 0) return failed("rank 0 could not {}; its log tells why", what);
    return {};
}

bool TrainLoop::stop_asked() {
    if (options_.stop == nullptr) return false;
    torch::Tensor asked = torch::full({1}, options_.stop->load() ? 1 : 0, torch::dtype(torch::kInt64).device(device_));
    must(collectives_.all_reduce_sum(asked)->wait());
    return asked.item<std::int64_t>() > 0;
}

Result<void> TrainLoop::restore() {
    if (auto sent = model_.broadcast_parameters(); !sent) return sent;
    if (auto loaded = load_frozen_weights(); !loaded) return loaded;

    std::vector<std::string> damaged;
    PLIMSOLL_TRY(const auto step, choose_checkpoint(damaged));
    if (step >= 0) {
        if (auto loaded = load(step); !loaded) return loaded;
    } else {
        if (auto loaded = load_start_weights(); !loaded) return loaded;
        if (auto made = model_.make_optimizer(plan_.optimizer); !made) return made;
    }
    if (auto told = announce(step, damaged); !told) return told;
    // A rollback needs somewhere to go.
    return guard_.rolls_back() && step < 0 ? save() : Result<void>();
}

Result<std::int64_t> TrainLoop::choose_checkpoint(std::vector<std::string>& damaged, std::int64_t before) {
    // Rank 0 chooses: the others might see another newest checkpoint on a shared file system.
    torch::Tensor chosen = torch::full({1}, -1, torch::dtype(torch::kInt64).device(device_));
    if (first_rank()) {
        if (const auto newest = newest_checkpoint(options_.run / "checkpoints", &damaged, {}, before)) {
            chosen.fill_(*step_of(newest->filename().string()));
        }
    }
    PLIMSOLL_CHECK(collectives_.broadcast(chosen, 0, patience));
    return chosen.item<std::int64_t>();
}

Result<void> TrainLoop::load(std::int64_t step) {
    const std::filesystem::path checkpoint = checkpoint_path(options_.run, step);
    PLIMSOLL_TRY(const auto contents, read_checkpoint(checkpoint, plan_));
    const std::string what = (checkpoint / (adapts(plan_) ? adapter_file : model_file)).string();
    if (auto loaded = model_.weights().load(contents.weights, what); !loaded) return loaded;
    if (auto made = model_.make_optimizer(plan_.optimizer); !made) return made;
    auto loaded = model_.load_optimizer_state(contents.optimizer, contents.optimizer_steps);
    if (!loaded) return loaded;
    updates_ = contents.state.step;
    saved_at_ = contents.state.step;
    samples_ = contents.state.samples;
    scaler_.restore(contents.state.scaler);
    guard_.restore(contents.state.guard);
    left_out_.insert(contents.state.left_out.begin(), contents.state.left_out.end());
    return {};
}

Result<void> TrainLoop::load_frozen_weights() {
    if (!adapts(plan_) || plan_.model.weights.empty()) return {};
    PLIMSOLL_TRY(const auto weights, read_hf_weights(plan_.model.weights, plan_));
    return model_.weights().load_frozen(weights, plan_.model.weights);
}

Result<void> TrainLoop::load_start_weights() {
    const std::string& from = adapts(plan_) ? plan_.adapter.weights : plan_.model.weights;
    if (from.empty()) return {};
    PLIMSOLL_TRY(const auto weights, adapts(plan_) ? read_peft_weights(from, plan_) : read_hf_weights(from, plan_));
    return model_.weights().load(weights, from);
}

Result<void> TrainLoop::announce(std::int64_t resumed_from, const std::vector<std::string>& damaged) {
    for (const std::string& each : damaged) {
        auto told = tell("damaged", fmt::format("A damaged checkpoint was passed over: {}", each));
        if (!told) return told;
    }
    const std::int64_t parameters = count_parameters(plan_.model).total;
    const auto dtype = std::string(name_of(plan_.numerics.dtype));
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string adapters =
        adapts(plan_) ? fmt::format(" and adapters of {}", format_short(static_cast<double>(adapter_parameters(plan_))))
                      : "";
    const std::string what =
        fmt::format("{} parameters{} in {} on {} {} ({}), on {} of {}: {} steps of {} tokens.",
                    format_short(static_cast<double>(parameters)), adapters, dtype, collectives_.world_size(),
                    collectives_.world_size() == 1 ? "rank" : "ranks",
                    accelerator_ != nullptr ? accelerator_->describe(device_.index()) : "CPU",
                    format_bytes(static_cast<Bytes>(corpus_.text.size())), corpus_.name, plan_.training.steps,
                    format_count(plan_.layout.global_batch() * plan_.data.sequence_length));
    Json details = {{"parameters", parameters},
                    {"trained_parameters", trained_parameters(plan_)},
                    {"world_size", collectives_.world_size()},
                    {"dtype", dtype},
                    {"device", device_.str()},
                    {"corpus", corpus_.name},
                    {"corpus_bytes", corpus_.text.size()},
                    {"train_bytes", corpus_.train_size},
                    {"steps", plan_.training.steps},
                    {"seed", plan_.training.seed},
                    {"buckets", model_.parameters().bucket_count()},
                    {"host", host},
                    {"pid", ::getpid()},
                    {"version", version()}};
    if (resumed_from < 0) return tell("start", "Training " + what, std::move(details));
    details["resumed_from"] = resumed_from;
    details["samples"] = samples_;
    return tell("resume", fmt::format("Resumed from the checkpoint of step {}: {}", resumed_from, what),
                std::move(details));
}

Bytes TrainLoop::memory(bool peak) const {
    if (accelerator_ != nullptr) return peak ? accelerator_->memory_peak() : accelerator_->memory_now();
    return peak ? memory_peak() : memory_now();
}

Result<void> TrainLoop::record(const Step& step) {
    const std::int64_t number = step.number;
    std::vector<std::pair<std::string, double>> values;
    if (first_rank()) {
        const double rate =
            static_cast<double>(plan_.layout.global_batch() * plan_.data.sequence_length) / step.seconds;
        values = {{series::loss, step.loss},
                  {series::lr, step.lr},
                  {series::loss_scale, step.scale},
                  {series::grad_norm, step.norms.global},
                  {series::tokens_per_second, rate}};
        if (plan_.model.moe()) values.emplace_back("router_loss", step.router_loss);
        if (plan_.model.z_loss > 0) values.emplace_back("z_loss", step.z_loss);
        if (const auto scale = noise_scale_.value(); scale && measures_noise(step.number)) {
            values.emplace_back(series::noise_scale, *scale);
        }
        const std::int64_t every = plan_.training.layer_norms_every;
        if (every > 0 && (number == 1 || number % every == 0)) {
            for (const auto& [layer, norm] : step.norms.layers) {
                values.emplace_back(series::layer_norm_prefix + layer, norm);
            }
        }
        if (number == 1 || number % lines_every == 0) {
            fmt::print("step {}/{}  loss {:.4f}  lr {:.3g}  grad norm {:.3g}  {:.0f} tokens/s\n", number,
                       plan_.training.steps, step.loss, step.lr, step.norms.global, rate);
            std::fflush(stdout);
        }
    }
    if (plan_.layout.pp > 1 && plan_.training.layer_norms_every > 0 &&
        (number == 1 || number % plan_.training.layer_norms_every == 0)) {
        if (auto told = record_pipeline(number); !told) return told;
    }
    values.emplace_back(series::step_time, step.seconds);
    values.emplace_back(series::data_time, step.data_seconds);
    if (collectives_.world_size() > 1) values.emplace_back(series::wait_time, step.wait_seconds);
    values.emplace_back(series::memory, static_cast<double>(memory(false)));
    values.emplace_back(series::memory_peak, static_cast<double>(memory(true)));
    if (accelerator_ == nullptr) {
        values.emplace_back(series::memory_step_peak, static_cast<double>(memory_peak_since_mark()));
    }
    return recorder_.points(number, values);
}

/// An event without a sentence, for those who lay it beside an estimate: "peak" and "live" in bytes, both kind by kind,
/// and with experts how many rows each of them got (RoutingLog), so that a dry run can take the same step.
Result<void> TrainLoop::record_memory(MemoryTrace trace, const CategoryBytes& standing,
                                      const std::vector<RowCounts>& routing) {
    const MemoryTimeline timeline = make_timeline(trace, 0, nullptr);
    const CategoryBytes now = memory_by_category();
    Json peaks = Json::object(), live = Json::object();
    for (std::size_t c = 0; c < memory_categories; ++c) {
        const std::string name(memory_category_names[c]);
        peaks[name] = standing[c] + timeline.at_peak[c];
        live[name] = now[c];
    }
    // For comparing with a dry run op by op (plimsoll-worker --memory-trace writes the same lines).
    if (const char* file = std::getenv("PLIMSOLL_MEMORY_TRACE"); file != nullptr && *file != '\0') {
        const auto path = fmt::format("{}.{}", file, collectives_.rank());
        if (auto written = write_file_atomic(path, trace_text(trace, 0)); !written) return written;
    }
    Json details{{"rank", collectives_.rank()},
                 {"peak", memory_peak_since_mark()},
                 {"live", memory_now()},
                 {"categories", std::move(peaks)},
                 {"live_categories", std::move(live)}};
    if (!routing.empty() && routing.size() <= most_routings) details["routing"] = routing;
    return recorder_.event(updates_, "memory", "", std::move(details));
}

/// What this rank's list of operations took: an event without a sentence, for those who draw it.
Result<void> TrainLoop::record_pipeline(std::int64_t number) {
    const std::vector<OpTime>& times = pipeline_.times();
    if (times.empty()) return {};
    const double origin = times.front().start;
    Json ops = Json::array();
    for (const OpTime& each : times) {
        ops.push_back({short_name(each.op, model_.chunks() > 1), each.start - origin, each.end - origin});
    }
    return recorder_.event(number, "pipeline", "",
                           {{"pp_rank", mesh_.position().pp}, {"origin", origin}, {"ops", std::move(ops)}});
}

Result<void> TrainLoop::periodic() {
    const bool last = updates_ == plan_.training.steps;
    const auto due = [&](std::int64_t every) { return every > 0 && (last || updates_ % every == 0); };
    if (due(plan_.training.validate_every) && batches_.validation_sequences() > 0) {
        if (auto done = validate(); !done) return done;
    }
    if (due(plan_.training.sample_every)) {
        if (auto done = sample(); !done) return done;
    }
    return due(plan_.training.checkpoint_every) ? save() : Result<void>();
}

Result<void> TrainLoop::validate() {
    model_.train(false);
    // [sum of the losses, sequences they are of]: a run that is asked to stop leaves out the rest.
    torch::Tensor sum = torch::zeros({2}, torch::dtype(torch::kFloat64).device(device_));
    const std::vector<Batch> own = batches_.validation();
    // Ranks need one another in each forward, so those with fewer batches go along with one that does not count.
    const auto rounds =
        static_cast<std::size_t>((batches_.validation_sequences() + plan_.layout.dp * plan_.layout.micro_batch - 1) /
                                 (plan_.layout.dp * plan_.layout.micro_batch));
    Result<void> result;
    for (std::size_t round = 0; round < rounds && result; ++round) {
        if (stop_asked()) break;
        const bool counts = round < own.size();
        const Batch& batch = counts ? own[round] : batches_.any_validation();
        const auto loss = pipeline_.loss(batch);
        if (!loss) result = tl::unexpected(loss.error());
        if (!loss || !counts || !speaks_for_data()) continue;
        sum[0] += *loss * static_cast<double>(batch.tokens.size(0));
        sum[1] += batch.tokens.size(0);
    }
    model_.train(true);
    if (!result) return result;
    if (auto summed = collectives_.all_reduce_sum(sum)->wait(); !summed || !first_rank()) return summed;
    const std::int64_t sequences = batches_.validation_sequences();
    const torch::Tensor host = sum.to(torch::kCPU);
    if (host[1].item<double>() < static_cast<double>(sequences)) return {};  // stopped: the part is not the whole
    const double loss = host[0].item<double>() / static_cast<double>(sequences);
    if (auto recorded = recorder_.points(updates_, {{series::validation_loss, loss}}); !recorded) return recorded;
    return tell("validation",
                fmt::format("Validation loss {:.3f} after step {}, over {} sequences.", loss, updates_, sequences),
                {{"loss", loss}});
}

Result<void> TrainLoop::sample() {
    const std::string& prompt = plan_.training.sample_prompt;
    Result<void> failure;
    const auto logits = [&](const torch::Tensor& tokens) {
        auto row = pipeline_.next_logits(tokens.to(device_));
        if (row) return *row;
        failure = tl::unexpected(row.error());
        return torch::Tensor();
    };
    model_.train(false);
    const std::string text =
        generate(logits, plan_.model.vocab_size, prompt, sample_length, sample_temperature,
                 static_cast<std::uint64_t>(plan_.training.seed),
                 std::min(plan_.data.sequence_length, plan_.model.max_position), [&] { return stop_asked(); });
    model_.train(true);
    if (!failure) return failure;
    return tell("sample", text, {{"prompt", prompt}});
}

Result<void> TrainLoop::save() {
    if (saved_at_ == updates_) return {};
    saved_at_ = updates_;
    const auto start = std::chrono::steady_clock::now();
    CheckpointContents contents;
    contents.state = {updates_, samples_, scaler_.state(), guard_.state(), left_out_};
    contents.optimizer_steps = model_.optimizer_steps();
    PLIMSOLL_TRY(auto weights, model_.weights().whole());
    contents.weights = std::move(weights);
    PLIMSOLL_TRY(auto optimizer, model_.whole_optimizer_state());
    contents.optimizer = std::move(optimizer);
    return on_first_rank("write the checkpoint", [&]() -> Result<void> {
        const auto path =
            save_checkpoint(options_.run / "checkpoints", contents, plan_, plan_.training.keep_checkpoints);
        if (!path) return tl::unexpected(path.error());
        const Seconds seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const Bytes bytes = size_of(*path);
        return tell(
            "checkpoint",
            fmt::format("Checkpoint of step {}: {} in {}.", updates_, format_bytes(bytes), format_seconds(seconds)),
            {{"path", path->filename().string()}, {"bytes", bytes}, {"seconds", seconds}});
    });
}

}  // namespace plimsoll::engine
