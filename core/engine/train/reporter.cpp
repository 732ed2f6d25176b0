// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/reporter.h"

#include <unistd.h>

#include <cstdlib>

#include "core/base/file.h"
#include "core/base/output.h"
#include "core/base/printable.h"
#include "core/engine/memory/memory_counter.h"
#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

namespace {

constexpr std::size_t most_routings = 4096;  ///< of a step, in an event
constexpr std::int64_t lines_every = 10;     ///< steps between lines in the log

}  // namespace

Result<void> Reporter::tell(std::int64_t step, EventKind kind, const std::string& sentence, Json details) {
    if (!first_rank()) return {};
    PLIMSOLL_CHECK(log(step, sentence + "\n"));
    return recorder_.event(step, kind, sentence, std::move(details));
}

/// The records say the same, so a log that cannot be written does not end the run; the records say that, once.
Result<void> Reporter::log(std::int64_t step, const std::string& text) {
    // A sample may hold what its prompt, and so somebody else, put into it.
    print(printable_lines(text));
    if (flush_output() || log_lost_) return {};
    log_lost_ = true;
    return recorder_.event(
        step, EventKind::Damaged,
        fmt::format("The log of rank 0 is not whole: its {} cannot be written any more. The run goes "
                    "on; its records are whole.",
                    name_of_stream(STDOUT_FILENO)));
}

bool Reporter::looks_closer(std::int64_t step) const {
    const std::int64_t every = plan_.training.layer_norms_every;
    return every > 0 && (step == 1 || step % every == 0);
}

Bytes Reporter::memory(bool peak) const {
    if (accelerator_ != nullptr) return peak ? accelerator_->memory_peak() : accelerator_->memory_now();
    return peak ? memory_peak() : memory_now();
}

void Reporter::add_figures_of_run(const StepRecord& step, std::optional<double> noise_scale,
                                  std::vector<std::pair<std::string, double>>& values) const {
    values = {{series::loss, step.loss},
              {series::lr, step.lr},
              {series::loss_scale, step.scale},
              {series::grad_norm, step.norms.global},
              {series::tokens_per_second, tokens_per_second(step)}};
    if (plan_.model.moe()) values.emplace_back(series::router_loss, step.router_loss);
    if (plan_.model.z_loss > 0) values.emplace_back(series::z_loss, step.z_loss);
    if (noise_scale) values.emplace_back(series::noise_scale, *noise_scale);
    if (looks_closer(step.number)) {
        for (const auto& [layer, norm] : step.norms.layers) {
            values.emplace_back(series::layer_norm_prefix + layer, norm);
        }
    }
}

Result<void> Reporter::log_step(const StepRecord& step) {
    if (step.number != 1 && step.number % lines_every != 0) return {};
    return log(step.number,
               fmt::format("step {}/{}  loss {:.4f}  lr {:.3g}  grad norm {:.3g}  {:.0f} tokens/s\n", step.number,
                           plan_.training.steps, step.loss, step.lr, step.norms.global, tokens_per_second(step)));
}

double Reporter::tokens_per_second(const StepRecord& step) const {
    return static_cast<double>(plan_.layout.global_batch() * plan_.data.sequence_length) / step.seconds;
}

Result<void> Reporter::record(const StepRecord& step, std::optional<double> noise_scale) {
    std::vector<std::pair<std::string, double>> values;
    if (first_rank()) {
        add_figures_of_run(step, noise_scale, values);
        PLIMSOLL_CHECK(log_step(step));
    }
    values.emplace_back(series::step_time, step.seconds);
    values.emplace_back(series::data_time, step.data_seconds);
    if (mesh_.world().world_size() > 1) values.emplace_back(series::wait_time, step.wait_seconds);
    values.emplace_back(series::memory, static_cast<double>(memory(false)));
    values.emplace_back(series::memory_peak, static_cast<double>(memory(true)));
    if (accelerator_ == nullptr) {
        values.emplace_back(series::memory_step_peak, static_cast<double>(memory_peak_since_mark()));
    }
    return recorder_.points(step.number, values);
}

Result<void> Reporter::record_pipeline(std::int64_t step, const std::vector<OpTime>& times, bool several_chunks) {
    if (times.empty()) return {};
    PipelineEvent event{mesh_.position().pp, times.front().start, {}};
    for (const OpTime& each : times) {
        event.ops.push_back({short_name(each.op, several_chunks), each.start - event.origin, each.end - event.origin});
    }
    return recorder_.event(step, EventKind::Pipeline, "", event.to_json());
}

Result<void> Reporter::record_memory(std::int64_t updates, const StepMemory& memory) {
    const int rank = mesh_.world().rank();
    const MemoryTimeline timeline = make_timeline(memory.trace, 0, nullptr);
    const CategoryBytes now = memory_by_category();
    // For comparing with a dry run op by op (plimsoll-worker --memory-trace writes the same lines).
    if (const char* file = std::getenv("PLIMSOLL_MEMORY_TRACE"); file != nullptr && *file != '\0') {
        const auto path = fmt::format("{}.{}", file, rank);
        PLIMSOLL_CHECK(write_file_atomic(path, trace_text(memory.trace, 0)));
    }
    MemoryEvent event;
    event.rank = rank;
    event.peak = memory_peak_since_mark();
    event.live = memory_now();
    for (std::size_t c = 0; c < memory_categories; ++c) {
        event.categories.emplace_back(memory_category_names[c], memory.standing[c] + timeline.at_peak[c]);
        event.live_categories.emplace_back(memory_category_names[c], now[c]);
    }
    if (memory.routing.size() <= most_routings) event.routing = memory.routing;
    return recorder_.event(updates, EventKind::Memory, "", event.to_json());
}

Result<void> Reporter::record_validation(std::int64_t updates, double loss, std::int64_t sequences) {
    if (!first_rank()) return {};
    PLIMSOLL_CHECK(recorder_.points(updates, {{series::validation_loss, loss}}));
    return tell(updates, EventKind::Validation,
                fmt::format("Validation loss {:.3f} after step {}, over {} sequences.", loss, updates, sequences),
                ValidationEvent{loss}.to_json());
}

}  // namespace plimsoll::engine
