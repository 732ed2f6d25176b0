// SPDX-License-Identifier: Apache-2.0
// What one rank records of its run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/writer.h"

namespace plimsoll::engine {

/// Writes RUN/telemetry/rank-R.rec. A record that cannot be written (disk full) ends the run: what is not recorded
/// would be missing for ever.
class Recorder {
public:
    static Result<Recorder> open(const std::filesystem::path& run, int rank);

    Result<void> points(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);
    void declare_again() { writer_.declare_again(); }
    Result<void> event(std::int64_t step, EventKind kind, const std::string& sentence, Json details = Json::object());

private:
    explicit Recorder(TelemetryWriter writer) : writer_(std::move(writer)) {}
    TelemetryWriter writer_;
};

}  // namespace plimsoll::engine
