// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_summary.h"

#include <system_error>

#include "core/checkpoint/checkpoint_state.h"
#include "core/run/checkpoint_list.h"
#include "core/telemetry/contract/series.h"
#include "core/telemetry/last_step.h"
#include "core/telemetry/reader.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t most_record_bytes = 64 * MiB;

std::optional<double> last_loss(const fs::path& record) {
    TelemetryReader reader(record);
    std::optional<double> loss;
    do {
        const auto batch = reader.poll();
        if (!batch) return loss;
        const auto points = batch->points.find(series::loss);
        if (points != batch->points.end() && !points->second.empty()) loss = points->second.back().value;
    } while (!reader.at_end());
    return loss;
}

void read_record(const RunFolder& run, RunSummary& summary, const RunSummary* before) {
    std::error_code error;
    const fs::path record = run.telemetry_path(0);
    summary.record_bytes = fs::file_size(record, error);
    if (error) summary.record_bytes = 0;
    if (before != nullptr && before->record_bytes == summary.record_bytes) {
        summary.step = before->step;
        summary.loss = before->loss;
        return;
    }
    summary.step = static_cast<std::int64_t>(last_recorded_step(record));
    if (summary.record_bytes <= most_record_bytes) {
        summary.loss = last_loss(record);
        return;
    }
    const auto checkpoints = list_checkpoints(run.layout());
    if (!checkpoints.empty()) summary.loss = checkpoints.front().loss;
}

void read_plan(const RunFolder& run, RunSummary& summary, const RunSummary* before) {
    std::error_code error;
    summary.plan_time = fs::last_write_time(run.plan_path(), error);
    if (before != nullptr && before->plan && before->plan_time == summary.plan_time) {
        summary.plan = before->plan;
        return;
    }
    auto plan = run.plan();
    if (plan) summary.plan = *std::move(plan);
}

}  // namespace

RunSummary summarize(const RunFolder& run, const RunSummary* before) {
    RunSummary summary;
    summary.path = run.path();
    summary.name = run.name();
    summary.live = run.live();
    if (auto state = run.state()) {
        summary.state = *std::move(state);
        summary.readable = true;
    }
    read_plan(run, summary, before);
    read_record(run, summary, before);
    summary.notes = read_run_notes(run.layout());
    return summary;
}

}  // namespace plimsoll
