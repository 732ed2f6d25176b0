// SPDX-License-Identifier: GPL-3.0-or-later
// Run folders with known contents, written the way the engine writes them.
#pragma once

#include <filesystem>
#include <functional>
#include <QTemporaryDir>
#include <QtGlobal>
#include <string>
#include <vector>

#include "core/run/run_folder.h"
#include "core/telemetry/writer.h"

namespace plimsoll::ui {

/// A store in a temporary folder; $PLIMSOLL_RUNS points to it.
class RunStore {
public:
    RunStore() { qputenv("PLIMSOLL_RUNS", path().string().c_str()); }
    ~RunStore() { qunsetenv("PLIMSOLL_RUNS"); }
    std::filesystem::path path() const { return folder_.path().toStdString(); }

    /// A run of `ranks` ranks and `steps` planned steps that ended ("finished") `age` seconds ago.
    RunFolder add(const std::string& name, int ranks = 2, std::int64_t steps = 100, double age = 0) const;

private:
    QTemporaryDir folder_;
};

/// Appends steps [from, to) of one series.
void record(const RunFolder& run, const std::string& series, std::uint64_t from, std::uint64_t to,
            const std::function<double(std::uint64_t)>& value, int rank = 0);
void recordEvent(const RunFolder& run, const Event& event);
/// Many points at once: the frames that TelemetryWriter would write, in one file write.
void recordMillion(const RunFolder& run, const std::string& series, std::uint64_t count,
                   const std::function<double(std::uint64_t)>& value);
void setState(const RunFolder& run, RunStatus status, const std::string& reason = {});

/// Runs the event loop until `done` or 20 seconds have passed; what `done` says in the end.
bool waitFor(const std::function<bool()>& done);

}  // namespace plimsoll::ui
