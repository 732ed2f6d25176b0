// SPDX-License-Identifier: Apache-2.0
// Appends records to one file; each append is one write(2), so that a crash tears at most the last frame.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/telemetry/record.h"

namespace plimsoll {

class TelemetryWriter {
public:
    /// Opens or creates; an existing file is continued: its torn tail is cut and its series ids are kept.
    static Result<TelemetryWriter> open(const std::filesystem::path& path);
    TelemetryWriter(TelemetryWriter&& other) noexcept;
    TelemetryWriter& operator=(TelemetryWriter&& other) noexcept;
    ~TelemetryWriter();

    /// One step's values by series name; a new name writes its Series record first. Units come from unit_of().
    Result<void> points(std::uint64_t step, double time, const std::vector<std::pair<std::string, double>>& values);
    Result<void> event(const Event& event);

private:
    TelemetryWriter() = default;
    Result<void> append(std::string_view payload);

    int fd_ = -1;
    std::string path_;
    std::map<std::string, std::uint16_t> ids_;
};

/// "s", "B", "tokens/s", "" by series name.
std::string unit_of(const std::string& series_name);

}  // namespace plimsoll
