// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/recorder.h"

#include <system_error>

#include "core/base/clock.h"
#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::engine {

Result<Recorder> Recorder::open(const std::filesystem::path& run, int rank) {
    const RunLayout layout(run);
    const auto folder = layout.records();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return bad_input("cannot make the folder {}: {}", folder.string(), error.message());
    PLIMSOLL_TRY(auto writer, TelemetryWriter::open(layout.record(rank)));
    return Recorder(std::move(writer));
}

Result<void> Recorder::points(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
    return writer_.points(static_cast<std::uint64_t>(step), wall_clock(), values);
}

Result<void> Recorder::event(std::int64_t step, EventKind kind, const std::string& sentence, Json details) {
    return writer_.event({static_cast<std::uint64_t>(step), wall_clock(), kind, sentence, std::move(details)});
}

}  // namespace plimsoll::engine
