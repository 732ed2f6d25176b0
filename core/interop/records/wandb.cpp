// SPDX-License-Identifier: Apache-2.0
#include "core/interop/records/wandb.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "core/base/version.h"
#include "core/interop/records/protobuf.h"
#include "core/interop/records/records_steps.h"
#include "core/telemetry/frame.h"

namespace plimsoll {

namespace {

using protobuf::put_bytes;
using protobuf::put_number;

// Field numbers of wandb_internal.proto.
constexpr std::uint32_t record_num = 1, record_history = 2, record_summary = 3, record_run = 17, record_exit = 18,
                        record_final = 20, record_header = 21;
constexpr std::uint32_t run_id = 1, run_project = 3, run_config = 4, run_display_name = 8, run_start_time = 17;
constexpr std::uint32_t header_version = 1, version_producer = 1, version_min_consumer = 2;
constexpr std::uint32_t list_item = 1, item_key = 1, item_json = 16, history_step = 2, step_num = 1;
constexpr std::uint32_t exit_runtime = 2, timestamp_seconds = 1, timestamp_nanos = 2;

/// LevelDB's log format with CRC-32 for its checksum, behind a header of W&B's own (wandb/sdk/internal/datastore.py):
/// blocks of 32 KiB, and records that are cut where a block ends.
class WandbLog {
public:
    explicit WandbLog(const RecordSink& sink) : sink_(sink) {
        out_ = ":W&B";
        put_u16(out_, 0xBEE1);
        out_ += '\0';
        at_ = out_.size();
    }

    /// One record of the given kind.
    Result<void> add(std::uint32_t kind, std::string_view message) {
        std::string record;
        put_number(record, record_num, ++count_);
        put_bytes(record, kind, message);
        put_record(record);
        return out_.size() < piece ? Result<void>() : flush();
    }
    Result<void> flush() {
        auto written = sink_(out_);
        out_.clear();
        return written;
    }

private:
    static constexpr std::size_t block = 32 * 1024, head = 7, piece = 64 * 1024;
    enum Part : std::uint8_t { Full = 1, First = 2, Middle = 3, Last = 4 };

    void put_record(std::string_view rest) {
        bool begun = false;
        do {
            std::size_t room = block - at_ % block;
            if (room < head) {
                out_.append(room, '\0');
                at_ += room;
                room = block;
            }
            const std::string_view data = rest.substr(0, room - head);
            rest.remove_prefix(data.size());
            const Part part = begun ? (rest.empty() ? Last : Middle) : (rest.empty() ? Full : First);
            put_part(part, data);
            begun = true;
        } while (!rest.empty());
    }
    void put_part(Part part, std::string_view data) {
        const unsigned char type = part;
        uLong sum = crc32(0, &type, 1);
        sum = crc32(sum, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size()));
        put_u32(out_, static_cast<std::uint32_t>(sum));
        put_u16(out_, static_cast<std::uint16_t>(data.size()));
        out_ += static_cast<char>(part);
        out_ += data;
        at_ += head + data.size();
    }

    const RecordSink& sink_;
    std::string out_;
    std::uint64_t at_ = 0;
    std::uint64_t count_ = 0;
};

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string json_text(double value) {
    if (std::isnan(value)) return "\"NaN\"";
    if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return json_text(Json(value));
}

void put_item(std::string& list, std::string_view key, std::string_view json) {
    std::string item;
    put_bytes(item, item_key, key);
    put_bytes(item, item_json, json);
    put_bytes(list, list_item, item);
}

std::string header() {
    std::string version, message;
    put_bytes(version, version_producer, fmt::format("plimsoll-{}", plimsoll::version()));
    put_bytes(version, version_min_consumer, "0.40.0");
    put_bytes(message, header_version, version);
    return message;
}

std::string run_message(const WandbRun& run) {
    std::string config, time, message;
    for (const auto& [key, value] : run.config.items()) put_item(config, key, json_text(value));
    const double whole = std::floor(run.started);
    put_number(time, timestamp_seconds, static_cast<std::uint64_t>(whole));
    put_number(time, timestamp_nanos, static_cast<std::uint64_t>((run.started - whole) * 1e9));
    put_bytes(message, run_id, wandb_id(run));
    put_bytes(message, run_project, run.project);
    put_bytes(message, run_config, config);
    put_bytes(message, run_display_name, run.name);
    put_bytes(message, run_start_time, time);
    return message;
}

std::string history_message(const RecordedStep& step, double started) {
    std::string message, number;
    for (const auto& [name, value] : step.values) put_item(message, *name, json_text(value));
    put_item(message, "_step", fmt::format("{}", step.step));
    put_item(message, "_timestamp", json_text(step.time));
    put_item(message, "_runtime", json_text(step.time - started));
    put_number(number, step_num, step.step);
    put_bytes(message, history_step, number);
    return message;
}

}  // namespace

std::string wandb_id(const WandbRun& run) {
    const std::string text = fmt::format("{}\n{}", run.name, run.started);
    std::uint64_t rest = (std::uint64_t{crc32c(text)} << 32U) | crc32c(text + "\n");
    std::string id;
    for (int i = 0; i < 8; ++i, rest /= 36) id += "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36];
    return id;
}

std::string wandb_file(const WandbRun& run) {
    // A time beyond every calendar would make gmtime fail.
    const auto seconds =
        static_cast<std::time_t>(std::clamp(std::isfinite(run.started) ? run.started : 0, 0.0, 253402300799.0));
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char stamp[32] = "";
    std::strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &utc);
    const std::string id = wandb_id(run);
    return fmt::format("offline-run-{}-{}/run-{}.wandb", stamp, id, id);
}

Result<void> export_wandb(const SeriesStore& store, const WandbRun& given, const RecordSink& sink) {
    WandbRun run = given;
    run.started = std::clamp(std::isfinite(run.started) ? run.started : 0, 0.0, 253402300799.0);
    WandbLog log(sink);
    if (auto added = log.add(record_header, header()); !added) return added;
    if (auto added = log.add(record_run, run_message(run)); !added) return added;
    double last = run.started;
    const auto each = [&](const RecordedStep& step) {
        last = std::max(last, step.time);
        return log.add(record_history, history_message(step, run.started));
    };
    if (auto done = for_each_step(store, each); !done) return done;
    std::string summary, ended;
    for (const auto& [name, series] : store.series()) {
        if (series.size() > 0) put_item(summary, name, json_text(series.value(series.size() - 1)));
    }
    put_item(summary, "_step", fmt::format("{}", store.last_step()));
    put_number(ended, exit_runtime, static_cast<std::uint64_t>(std::clamp(last - run.started, 0.0, 2147483647.0)));
    for (const auto& [kind, message] :
         {std::pair(record_summary, summary), std::pair(record_exit, ended), std::pair(record_final, std::string())}) {
        if (auto added = log.add(kind, message); !added) return added;
    }
    return log.flush();
}

}  // namespace plimsoll
