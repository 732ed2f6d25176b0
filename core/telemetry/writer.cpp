// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/fd.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/output.h"
#include "core/base/write_error.h"
#include "core/telemetry/contract/own_files.h"
#include "core/telemetry/frame.h"

namespace plimsoll {

namespace {

std::string series_payload(std::uint16_t id, const std::string& name, const std::string& unit) {
    std::string payload(1, static_cast<char>(RecordType::Series));
    put_u16(payload, id);
    put_u16(payload, static_cast<std::uint16_t>(name.size()));
    payload += name;
    put_u16(payload, static_cast<std::uint16_t>(unit.size()));
    payload += unit;
    return payload;
}

}  // namespace

Result<TelemetryWriter> TelemetryWriter::open(const std::filesystem::path& path) {
    TelemetryWriter writer;
    writer.path_ = path.string();
    PLIMSOLL_TRY(auto opened, open_own(path, O_RDWR | O_CREAT | O_APPEND));
    writer.fd_ = opened.release();
    struct stat info {};
    if (::fstat(writer.fd_, &info) != 0) return bad_input("cannot write {}: {}", path.string(), errno_text(errno));
    if (::flock(writer.fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return bad_input("cannot write {}: another process is writing it; stop that run first", path.string());
    }

    const auto size = static_cast<std::uint64_t>(info.st_size);
    FrameScanner scanner;
    do {
        const auto scanned =
            scanner.scan(writer.fd_, size, 64 * MiB, [&](std::string_view payload) { writer.take(payload); });
        if (!scanned) return bad_input("cannot continue {}: {}", path.string(), scanned.error().message);
    } while (!scanner.at_end());

    writer.size_ = scanner.good_end();
    if (size != writer.size_ && ::ftruncate(writer.fd_, static_cast<off_t>(writer.size_)) != 0) {
        return bad_input("cannot cut the torn tail of {}: {}", path.string(), errno_text(errno));
    }
    if (scanner.head_damaged()) {
        PLIMSOLL_CHECK(writer.mend_head());
    }
    if (writer.size_ == 0) {
        PLIMSOLL_CHECK(writer.append(record_magic));
    }
    return writer;
}

void TelemetryWriter::take(std::string_view payload) {
    ByteReader in(payload);
    const auto count_id = [this](std::uint16_t id) { next_id_ = std::max<std::uint32_t>(next_id_, id + 1U); };
    const auto type = static_cast<RecordType>(in.u8());
    if (type == RecordType::Series) {
        const std::uint16_t id = in.u16();
        series_[std::string(in.text(in.u16()))] = {id, false};
        count_id(id);
    } else if (type == RecordType::Points) {
        in.u64();
        in.f64();
        for (std::size_t left = in.u16(); left > 0; --left) {
            count_id(in.u16());
            in.f64();
        }
    }
}

Result<void> TelemetryWriter::mend_head() const {
    // The writer's own descriptor only appends.
    const Fd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    const ssize_t n = fd.get() < 0 ? -1 : ::pwrite(fd.get(), record_magic.data(), record_magic.size(), 0);
    if (n == static_cast<ssize_t>(record_magic.size())) return {};
    return failed("cannot mend the beginning of {}: {}", path_, errno_text(errno));
}

void TelemetryWriter::declare_again() {
    for (auto& [name, series] : series_) series.declared = false;
}

TelemetryWriter::TelemetryWriter(TelemetryWriter&& other) noexcept { *this = std::move(other); }

TelemetryWriter& TelemetryWriter::operator=(TelemetryWriter&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    std::swap(size_, other.size_);
    std::swap(series_, other.series_);
    std::swap(next_id_, other.next_id_);
    return *this;
}

TelemetryWriter::~TelemetryWriter() {
    if (fd_ >= 0) ::close(fd_);
}

Result<void> TelemetryWriter::points(std::uint64_t step, double time,
                                     const std::vector<std::pair<std::string, double>>& values) {
    if (values.size() > 0xffff) return bad_input("{} values for one step: 65,535 is the limit", values.size());
    std::string frames;
    std::string payload(1, static_cast<char>(RecordType::Points));
    put_u64(payload, step);
    put_f64(payload, time);
    put_u16(payload, static_cast<std::uint16_t>(values.size()));
    std::vector<std::string> added, declared;
    Result<void> result;
    for (const auto& [name, value] : values) {
        auto series = series_.find(name);
        if (series == series_.end()) {
            if (name.empty() || name.size() > max_series_name) {
                result = bad_input("a series name has 1 to {} bytes, this one has {}", max_series_name, name.size());
                break;
            }
            if (next_id_ > 0xffff) {
                result = bad_input("{} holds 65,536 series already", path_);
                break;
            }
            series = series_.emplace(name, Series{static_cast<std::uint16_t>(next_id_++), false}).first;
            added.push_back(name);
        }
        if (!series->second.declared) {
            put_frame(frames, series_payload(series->second.id, name, unit_of(name)));
            series->second.declared = true;
            declared.push_back(name);
        }
        put_u16(payload, series->second.id);
        put_f64(payload, value);
    }
    put_frame(frames, payload);
    if (result) result = append(frames);
    if (!result) {
        // The Series records did not reach the file: they are written again with the next points.
        for (const std::string& name : declared) series_[name].declared = false;
        for (const std::string& name : added) series_.erase(name);
        next_id_ -= static_cast<std::uint32_t>(added.size());
    }
    return result;
}

Result<void> TelemetryWriter::event(const Event& event) {
    Json json = {{"kind", event.kind.name()}, {"sentence", event.sentence}};
    for (const auto& [key, value] : event.details.items()) {
        if (!json.contains(key)) json[key] = value;
    }
    std::string payload(1, static_cast<char>(RecordType::Event));
    put_u64(payload, event.step);
    put_f64(payload, event.time);
    payload += json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (payload.size() > max_payload) {
        return bad_input("an event of {} is over the limit of {}", format_bytes(static_cast<Bytes>(payload.size())),
                         format_bytes(static_cast<Bytes>(max_payload)));
    }
    std::string frame;
    put_frame(frame, payload);
    return append(frame);
}

Result<void> TelemetryWriter::append(std::string_view frames) {
    // One write(2) unless the room runs out in its middle; the write of the rest tells why then.
    const int error = write_all(fd_, frames);
    if (error == 0) {
        size_ += frames.size();
        return {};
    }
    if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
        return failed("{}; and half a record could not be taken back: {}", write_error(path_, error),
                      errno_text(errno));
    }
    return failed("{}; then resume the run", write_error(path_, error));
}

}  // namespace plimsoll
