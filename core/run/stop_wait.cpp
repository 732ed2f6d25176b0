// SPDX-License-Identifier: Apache-2.0
#include "core/run/stop_wait.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/median.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/series.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t steps_looked_at = 9;

/// When something in the folder was last made or removed, in seconds since the epoch.
double changed(const fs::path& folder) {
    struct stat info {};
    if (::stat(folder.c_str(), &info) != 0) return 0;
    return static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) * 1e-9;
}

Bytes bytes_in(const fs::path& folder) {
    Bytes bytes = 0;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        std::error_code gone;
        const auto size = it->file_size(gone);
        if (!gone) bytes += static_cast<Bytes>(size);
    }
    return bytes;
}

/// ".step-00000100.new" -> 100.
std::optional<std::int64_t> step_being_saved(const std::string& name) {
    constexpr std::string_view end = ".new";
    if (!is_hidden_checkpoint(name) || !name.ends_with(end)) return std::nullopt;
    return step_of(name.substr(1, name.size() - 1 - end.size()));
}

std::optional<Seconds> usual_step(const SeriesStore& records) {
    const Pyramid* times = records.find(series::step_time);
    if (times == nullptr || times->size() == 0) return std::nullopt;
    std::vector<double> last;
    for (std::size_t i = times->size() - std::min(times->size(), steps_looked_at); i < times->size(); ++i) {
        last.push_back(times->value(i));
    }
    return median(last);
}

std::optional<Bytes> last_checkpoint(const SeriesStore& records) {
    const auto& events = records.events();
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
        if (event->kind != EventKind::Checkpoint) continue;
        const auto saved = CheckpointEvent::from_json(event->details);
        return saved && saved->bytes > 0 ? std::optional(saved->bytes) : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

std::optional<SaveUnderWay> save_under_way(const RunLayout& run, double since) {
    std::error_code error;
    for (fs::directory_iterator it(run.checkpoints(), error), end; !error && it != end; it.increment(error)) {
        const auto step = step_being_saved(it->path().filename().string());
        if (step && changed(it->path()) >= since) return SaveUnderWay{*step, bytes_in(it->path())};
    }
    return std::nullopt;
}

std::optional<Seconds> StopWait::left() const {
    if (!step_takes) return std::nullopt;
    return std::max(0.0, *step_takes - elapsed);
}

StopWait stop_wait(const SeriesStore& records, const std::optional<SaveUnderWay>& save, double started, double now) {
    StopWait wait;
    double begun = started;
    const Pyramid* done = records.find(series::step_time);
    if (done != nullptr && done->size() > 0) {
        wait.step = static_cast<std::int64_t>(done->step(done->size() - 1));
        begun = std::max(begun, done->time(done->size() - 1));
    }
    ++wait.step;
    wait.elapsed = std::max(0.0, now - begun);
    wait.step_takes = usual_step(records);
    wait.save = save;
    if (save) wait.step = save->step;
    wait.save_takes = last_checkpoint(records);
    return wait;
}

}  // namespace plimsoll
