// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/fd.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll {

namespace {

constexpr std::size_t most_unnamed = 1'000'000;  ///< values that are kept until their series is declared

std::optional<Event> event_from(ByteReader& in) {
    Event event;
    event.step = in.u64();
    event.time = in.f64();
    auto json = parse_json(in.rest(), "event");
    if (!in.ok() || !json || !json->is_object()) return std::nullopt;
    for (auto& [key, value] : json->items()) {
        if (key == "kind" && value.is_string())
            event.kind = RecordedKind::read(printable(value.get<std::string>()));
        else if (key == "sentence" && value.is_string())
            event.sentence = printable_lines(value.get<std::string>());
        else
            event.details[key] = std::move(value);
    }
    return event;
}

}  // namespace

TelemetryReader::TelemetryReader(std::filesystem::path path) : path_(std::move(path)) {}

Result<TelemetryBatch> TelemetryReader::poll(Bytes limit) {
    TelemetryBatch batch;
    // O_NONBLOCK: opening a FIFO must not hang; it is refused just below.
    const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) {
        if (errno == ENOENT || errno == ENOTDIR) return batch;
        return failed("cannot read {}: {}", path_.string(), errno_text(errno));
    }
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return failed("cannot read {}: {}", path_.string(), errno_text(errno));
    if (!S_ISREG(info.st_mode)) return bad_input("cannot read {}: it is not a regular file", path_.string());

    const auto size = static_cast<std::uint64_t>(info.st_size);
    size_ = size;
    const bool replaced = inode_ != 0 && (inode_ != info.st_ino || size < scanner_.offset() ||
                                          (size > scanner_.offset() && !scanner_.still_there(fd.get())));
    if (replaced) {
        scanner_ = FrameScanner();
        names_.clear();
        unnamed_.clear();
        unnamed_count_ = 0;
        last_step_ = 0;
        batch.replaced = true;
    }
    inode_ = info.st_ino;
    const auto scanned = scanner_.scan(fd.get(), size, limit, [&](std::string_view payload) { take(payload, batch); });
    if (!scanned) return tl::unexpected(Error{path_.string() + ": " + scanned.error().message, scanned.error().kind});
    return batch;
}

void TelemetryReader::take(std::string_view payload, TelemetryBatch& batch) {
    ByteReader in(payload);
    switch (static_cast<RecordType>(in.u8())) {
        case RecordType::Series:
            return take_series(in, batch);
        case RecordType::Points:
            return take_points(in, batch);
        case RecordType::Event:
            if (auto event = event_from(in)) batch.events.push_back(std::move(*event));
            return;
    }
}

void TelemetryReader::take_series(ByteReader& in, TelemetryBatch& batch) {
    const std::uint16_t id = in.u16();
    // The file may be of others, and its names go to terminals, tables and labels.
    const std::string name = printable(in.text(in.u16()));
    const std::string unit = printable(in.text(in.u16()));
    if (!in.ok() || name.empty() || name.size() > max_series_name) return;
    names_[id] = name;
    units_[name] = batch.units[name] = unit;
    const auto waiting = unnamed_.find(id);
    if (waiting == unnamed_.end()) return;
    // An earlier declaration was damaged.
    std::vector<Point>& points = batch.points[name];
    points.insert(points.end(), waiting->second.begin(), waiting->second.end());
    unnamed_count_ -= waiting->second.size();
    unnamed_.erase(waiting);
}

void TelemetryReader::keep_unnamed(std::uint16_t id, const Point& point) {
    if (unnamed_count_ == most_unnamed) return;
    unnamed_[id].push_back(point);
    ++unnamed_count_;
}

void TelemetryReader::fork_at(std::uint64_t step, TelemetryBatch& batch) {
    batch.fork = std::min(batch.fork.value_or(step), step);
    std::map<std::string, std::vector<Point>> left;
    for (const auto& [name, points] : batch.points) {
        const auto from = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.step >= step; });
        if (from != points.end()) left[name].assign(from, points.end());
    }
    if (!left.empty()) batch.left.push_back(std::move(left));
    const auto cut = [step](std::vector<Point>& points) {
        while (!points.empty() && points.back().step >= step) points.pop_back();
    };
    for (auto entry = batch.points.begin(); entry != batch.points.end();) {
        cut(entry->second);
        entry = entry->second.empty() ? batch.points.erase(entry) : std::next(entry);
    }
    for (auto& [id, points] : unnamed_) {
        unnamed_count_ -= points.size();
        cut(points);
        unnamed_count_ += points.size();
    }
}

void TelemetryReader::take_points(ByteReader& in, TelemetryBatch& batch) {
    const std::uint64_t step = in.u64();
    const double time = in.f64();
    const std::size_t count = in.u16();
    if (step < last_step_) fork_at(step, batch);
    last_step_ = step;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t id = in.u16();
        const Point point{step, time, in.f64()};
        if (!in.ok()) return;
        if (const auto name = names_.find(id); name != names_.end()) {
            batch.points[name->second].push_back(point);
        } else {
            keep_unnamed(id, point);
        }
    }
}

}  // namespace plimsoll
