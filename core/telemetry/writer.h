// SPDX-License-Identifier: Apache-2.0
// Appends records to one file; each append is one write(2), so that a crash tears at most the last frame.
#pragma once

#include <cstdint>
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
    /// Opens or creates; an existing file is continued: its torn tail is cut, a damaged magic mended, and its series ids
    /// are kept. Error when another process writes it, when it is no record file, or when there is no room.
    static Result<TelemetryWriter> open(const std::filesystem::path& path);
    TelemetryWriter(TelemetryWriter&& other) noexcept;
    TelemetryWriter& operator=(TelemetryWriter&& other) noexcept;
    ~TelemetryWriter();

    /// One step's values by series name; a new name writes its Series record first (in the same write). Units come
    /// from unit_of(). On error (disk full) nothing of it is left in the file, and the next call may work again.
    Result<void> points(std::uint64_t step, double time, const std::vector<std::pair<std::string, double>>& values);
    /// Each series is declared once more where it is recorded next, so that a damaged declaration costs no more than the
    /// time until then. A file that is continued does so by itself.
    void declare_again();
    /// Kind and sentence are written over details of the same keys; text that is not UTF-8 is mended.
    Result<void> event(const Event& event);

private:
    TelemetryWriter() = default;
    Result<void> append(std::string_view frames);

    int fd_ = -1;
    std::string path_;
    std::uint64_t size_ = 0;
    struct Series {
        std::uint16_t id = 0;
        bool declared = false;  ///< by this writer, since declare_again()
    };
    void take(std::string_view payload);
    Result<void> mend_head() const;
    std::map<std::string, Series> series_;
    std::uint32_t next_id_ = 0;  ///< above all that the file holds, those without a readable declaration included
};

}  // namespace plimsoll
