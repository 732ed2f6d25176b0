// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/timeline_file.h"

#include <algorithm>
#include <optional>

#include "core/base/file.h"

namespace plimsoll {

namespace {

constexpr std::size_t most_points = 20'000;
constexpr std::size_t most_entries = 100'000;

/// The first thing that is wrong stops the reading.
class Reader {
public:
    explicit Reader(std::string what) : what_(std::move(what)) {}

    Json member(const Json& object, const char* name) {
        if (error_) return {};
        if (object.is_object() && object.contains(name)) return object.at(name);
        wrong(fmt::format("lacks \"{}\"", name));
        return {};
    }
    std::string text(const Json& object, const char* name) {
        const Json value = member(object, name);
        if (!error_ && !value.is_string()) wrong(fmt::format("has no text in \"{}\"", name));
        return error_ ? "" : value.get<std::string>();
    }
    std::int64_t number(const Json& value, const char* name, std::int64_t limit = INT64_MAX) {
        if (error_) return 0;
        const bool whole =
            value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
        if (whole && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() <= limit)
            return value.get<std::int64_t>();
        wrong(fmt::format("has {} in \"{}\", where a whole number from 0 to {} is needed", shown(value), name, limit));
        return 0;
    }
    std::int64_t count(const Json& object, const char* name, std::int64_t limit = INT64_MAX) {
        return number(member(object, name), name, limit);
    }
    Json list(const Json& object, const char* name, std::size_t most) {
        Json value = member(object, name);
        if (error_) return Json::array();
        if (value.is_array() && value.size() <= most) return value;
        wrong(fmt::format("has no list of at most {} entries in \"{}\"", most, name));
        return Json::array();
    }
    void wrong(const std::string& why) {
        if (!error_) error_ = fmt::format("{} is no memory timeline that can be read: it {}", what_, why);
    }
    Result<void> result() const {
        if (error_) return bad_input("{}", *error_);
        return {};
    }
    bool good() const { return !error_; }

private:
    std::string what_;
    std::optional<std::string> error_;
};

std::vector<std::int64_t> numbers(Reader& reader, const Json& object, const char* name, std::size_t length,
                                  std::int64_t limit = INT64_MAX) {
    const Json list = reader.list(object, name, most_points);
    if (reader.good() && list.size() != length) {
        reader.wrong(fmt::format("has {} numbers in \"{}\" and {} events", list.size(), name, length));
    }
    std::vector<std::int64_t> all;
    for (const Json& each : list) all.push_back(reader.number(each, name, limit));
    return all;
}

void read_peak(Reader& reader, const Json& json, MemoryTimeline& timeline) {
    const Json peak = reader.member(json, "peak");
    timeline.peak_event = reader.count(peak, "event", std::max<std::int64_t>(timeline.events, 1) - 1);
    timeline.peak = reader.count(peak, "bytes");
    const Json reserved = reader.member(peak, "reserved");
    if (!reserved.is_null()) timeline.peak_reserved = reader.number(reserved, "reserved");
    const Json by_category = reader.list(peak, "categories", memory_categories);
    if (reader.good() && by_category.size() != memory_categories) reader.wrong("has not one peak a category");
    for (std::size_t c = 0; reader.good() && c < memory_categories; ++c) {
        timeline.at_peak[c] = reader.number(by_category[c], "categories");
    }
    for (const Json& each : reader.list(peak, "standing", most_entries)) {
        StandingBlocks blocks;
        blocks.layer = reader.text(each, "layer");
        blocks.op = reader.text(each, "op");
        blocks.phase = reader.text(each, "phase");
        blocks.category = static_cast<MemoryCategory>(reader.count(each, "category", memory_categories - 1));
        blocks.count = reader.count(each, "count");
        blocks.bytes = reader.count(each, "bytes");
        timeline.standing.push_back(std::move(blocks));
        if (!reader.good()) return;
    }
}

void read_series(Reader& reader, const Json& json, MemoryTimeline& timeline) {
    const Json series = reader.member(json, "series");
    const std::size_t points = reader.list(series, "event", most_points).size();
    timeline.event = numbers(reader, series, "event", points, std::max<std::int64_t>(timeline.events, 1) - 1);
    if (!std::is_sorted(timeline.event.begin(), timeline.event.end())) reader.wrong("has events out of order");
    const auto last_op = static_cast<std::int64_t>(timeline.ops.size()) - 1;
    for (const std::int64_t op : numbers(reader, series, "op", points, last_op)) {
        timeline.op.push_back(static_cast<std::int32_t>(op));
    }
    if (!reader.member(series, "reserved").is_null()) timeline.reserved = numbers(reader, series, "reserved", points);
    const Json live = reader.list(series, "live", memory_categories);
    if (reader.good() && live.size() != memory_categories) reader.wrong("has not one series a category in \"live\"");
    timeline.live.assign(points, {});
    for (std::size_t c = 0; reader.good() && c < memory_categories; ++c) {
        const auto values = numbers(reader, Json{{"live", live[c]}}, "live", points);
        for (std::size_t i = 0; reader.good() && i < points; ++i) timeline.live[i][c] = values[i];
    }
}

}  // namespace

Json timeline_json(const MemoryTimeline& timeline) {
    const bool card = timeline.peak_reserved > 0;
    Json standing = Json::array();
    for (const StandingBlocks& each : timeline.standing) {
        standing.push_back({{"layer", each.layer},
                            {"op", each.op},
                            {"category", static_cast<int>(each.category)},
                            {"phase", each.phase},
                            {"count", each.count},
                            {"bytes", each.bytes}});
    }
    Json phases = Json::array();
    for (const TimelinePhase& each : timeline.phases) phases.push_back({{"name", each.name}, {"event", each.event}});
    Json live = Json::array();
    for (std::size_t c = 0; c < memory_categories; ++c) {
        Json one = Json::array();
        for (const CategoryBytes& point : timeline.live) one.push_back(point[c]);
        live.push_back(std::move(one));
    }
    return {{"plimsoll_timeline", 1},
            {"plan", timeline.plan},
            {"rank", timeline.rank},
            {"device", timeline.device},
            {"events", timeline.events},
            {"peak",
             {{"event", timeline.peak_event},
              {"bytes", timeline.peak},
              {"reserved", card ? Json(timeline.peak_reserved) : Json()},
              {"categories", timeline.at_peak},
              {"standing", std::move(standing)}}},
            {"phases", std::move(phases)},
            {"categories", memory_category_names},
            {"ops", timeline.ops},
            {"series",
             {{"event", timeline.event},
              {"op", timeline.op},
              {"live", std::move(live)},
              {"reserved", timeline.reserved.empty() ? Json() : Json(timeline.reserved)}}}};
}

Result<void> write_timeline(const std::filesystem::path& path, const MemoryTimeline& timeline) {
    return write_file_atomic(path, timeline_json(timeline).dump() + "\n");
}

Result<MemoryTimeline> timeline_from_json(const Json& json, const std::string& what) {
    Reader reader(what);
    const std::int64_t version = reader.count(json, "plimsoll_timeline");
    if (reader.good() && version != 1) reader.wrong(fmt::format("is of version {}, and only 1 is known", version));
    MemoryTimeline timeline;
    timeline.plan = reader.text(json, "plan");
    timeline.device = reader.text(json, "device");
    timeline.rank = static_cast<int>(reader.count(json, "rank", INT32_MAX));
    timeline.events = reader.count(json, "events");
    const Json names = reader.list(json, "categories", memory_categories);
    if (reader.good() && names != Json(memory_category_names)) reader.wrong("has other categories than are known");
    for (const Json& each : reader.list(json, "ops", most_entries)) {
        if (!each.is_string()) reader.wrong("has an op that is no text");
        timeline.ops.push_back(each.is_string() ? each.get<std::string>() : "");
    }
    for (const Json& each : reader.list(json, "phases", most_entries)) {
        timeline.phases.push_back({reader.text(each, "name"), reader.count(each, "event", timeline.events)});
        if (!reader.good()) break;
    }
    read_peak(reader, json, timeline);
    read_series(reader, json, timeline);
    PLIMSOLL_CHECK(reader.result());
    return timeline;
}

Result<MemoryTimeline> read_timeline(const std::filesystem::path& path) {
    PLIMSOLL_TRY(const auto json, read_json(path, 256 * MiB));
    return timeline_from_json(json, path.string());
}

}  // namespace plimsoll
