// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/synthetic_run.h"

#include <fstream>
#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QThread>
#include <stdexcept>

#include "core/base/clock.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/telemetry/frame.h"

namespace plimsoll::ui {

namespace {

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
}
void must(const Result<void>& result) {
    if (!result) throw std::runtime_error(result.error().message);
}

}  // namespace

RunFolder RunStore::add(const std::string& name, int ranks, std::int64_t steps, double age) const {
    Plan plan = must(plan_from_argument("cpu-demo")).plan;
    plan.name = name;
    plan.cluster.gpus_per_node = ranks;
    plan.layout.dp = ranks;
    plan.training.steps = steps;
    plan.optimizer.lr = 1e-3;
    plan.lr = {.kind = LrKind::Cosine, .warmup_steps = 20, .min_ratio = 0.1};
    const RunFolder run = must(RunFolder::create(path() / name, plan, false));
    RunState state;
    state.status = RunStatus::Finished;
    state.world_size = ranks;
    state.supervisor_pid = 1;
    state.started = wall_clock() - age - 60;
    state.ended = wall_clock() - age;
    must(run.write_state(state));
    return run;
}

void record(const RunFolder& run, const std::string& series, std::uint64_t from, std::uint64_t to,
            const std::function<double(std::uint64_t)>& value, int rank) {
    TelemetryWriter writer = must(TelemetryWriter::open(run.telemetry_path(rank)));
    for (std::uint64_t step = from; step < to; ++step)
        must(writer.points(step, 1e9 + static_cast<double>(step), {{series, value(step)}}));
}

void recordEvent(const RunFolder& run, const Event& event) {
    TelemetryWriter writer = must(TelemetryWriter::open(run.telemetry_path(0)));
    must(writer.event(event));
}

void recordMillion(const RunFolder& run, const std::string& series, std::uint64_t count,
                   const std::function<double(std::uint64_t)>& value) {
    std::string bytes(record_magic);
    std::string payload;
    payload.push_back(1);  // Series
    put_u16(payload, 0);
    put_u16(payload, static_cast<std::uint16_t>(series.size()));
    payload += series;
    put_u16(payload, 0);
    put_frame(bytes, payload);
    for (std::uint64_t step = 0; step < count; ++step) {
        payload.assign(1, 2);  // Points
        put_u64(payload, step);
        put_f64(payload, 1e9 + static_cast<double>(step));
        put_u16(payload, 1);
        put_u16(payload, 0);
        put_f64(payload, value(step));
        put_frame(bytes, payload);
    }
    std::ofstream(run.telemetry_path(0), std::ios::binary) << bytes;
}

void setState(const RunFolder& run, RunStatus status, const std::string& reason) {
    RunState state = must(run.state());
    state.status = status;
    state.reason = reason;
    must(run.write_state(state));
}

bool waitFor(const std::function<bool()>& done) {
    const QDeadlineTimer deadline(20'000);
    while (!done() && !deadline.hasExpired()) {
        QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
        QThread::msleep(2);
    }
    return done();
}

}  // namespace plimsoll::ui
