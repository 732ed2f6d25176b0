// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/recorder.h"

#include <system_error>

#include "core/base/clock.h"

namespace plimsoll::engine {

Result<Recorder> Recorder::open(const std::filesystem::path& run, int rank) {
    const auto folder = run / "telemetry";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return bad_input("cannot make the folder {}: {}", folder.string(), error.message());
    PLIMSOLL_TRY(auto writer, TelemetryWriter::open(folder / fmt::format("rank-{}.rec", rank)));
    return Recorder(std::move(writer));
}

Result<void> Recorder::points(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
    return writer_.points(static_cast<std::uint64_t>(step), wall_clock(), values);
}

Result<void> Recorder::event(std::int64_t step, const std::string& kind, const std::string& sentence, Json details) {
    return writer_.event({static_cast<std::uint64_t>(step), wall_clock(), kind, sentence, std::move(details)});
}

}  // namespace plimsoll::engine
