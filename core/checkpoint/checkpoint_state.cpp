// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <system_error>

#include "core/base/file_io.h"
#include "core/base/json.h"
#include "core/telemetry/contract/run_layout.h"
#include "core/telemetry/frame.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr int version = 1;
/// Bytes that are summed up at once.
constexpr std::uint64_t state_block = 4 * MiB;

std::string hex(std::uint32_t value) { return fmt::format("{:08x}", value); }

/// As text, since many readers of JSON round whole numbers above 2^53.
std::string hex64(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::uint64_t from_hex(const std::string& text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return value;
}

Json to_json(const DataFingerprint& data) {
    return {{"bytes", data.bytes}, {"text", hex64(data.text)}, {"order", hex64(data.order)}};
}

DataFingerprint fingerprint(const Json& json) {
    return {json.at("bytes").get<Bytes>(), from_hex(json.at("text").get<std::string>()),
            from_hex(json.at("order").get<std::string>())};
}

/// Checksum of the document's text, taken without the checksum itself.
std::string own_sum(Json document) {
    document.erase("crc32c");
    return hex(crc32c(document.dump()));
}

/// Size and checksum of a file: the CRC-32C of the CRC-32Cs (4 bytes each, little-endian) of its blocks.
Result<Json> sum_of(const fs::path& path) {
    PLIMSOLL_TRY(const auto file, FileReader::open(path));
    std::string bytes, sums;
    for (std::uint64_t at = 0; at < file.size(); at += state_block) {
        bytes.resize(std::min(state_block, file.size() - at));
        PLIMSOLL_CHECK(file.read(bytes.data(), bytes.size(), at));
        put_u32(sums, crc32c(bytes));
    }
    return Json{{"bytes", file.size()}, {"crc32c_of_blocks", hex(crc32c(sums))}};
}

Result<void> check_file(const fs::path& path, const Json& written) {
    PLIMSOLL_TRY(const auto found, sum_of(path));
    if (found == written) return {};
    const auto bytes = found.at("bytes").get<std::uint64_t>(), then = written.value("bytes", std::uint64_t{0});
    if (bytes != then) {
        return bad_input("{} is not as it was written ({} bytes, {} were written)", path.string(), bytes, then);
    }
    return bad_input("{} is not as it was written: its {} bytes have the checksum {}, {} was written", path.string(),
                     bytes, found.at("crc32c_of_blocks").get<std::string>(),
                     written.value("crc32c_of_blocks", std::string("no checksum")));
}

}  // namespace

std::vector<std::int64_t> checkpoint_steps(const fs::path& checkpoints) {
    std::vector<std::int64_t> steps;
    std::error_code error;
    for (auto it = fs::directory_iterator(checkpoints, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (const auto step = step_of(it->path().filename().string())) steps.push_back(*step);
    }
    std::sort(steps.begin(), steps.end(), std::greater<>());
    return steps;
}

Result<void> write_state(const fs::path& folder, const StateDocument& document, const std::vector<std::string>& files) {
    Json json = {{"plimsoll_checkpoint", version},
                 {"step", document.state.step},
                 {"samples", document.state.samples},
                 {"optimizer_steps", document.optimizer_steps},
                 {"loss_scaler",
                  {{"scale", document.state.scaler.scale},
                   {"iteration", document.state.scaler.iteration},
                   {"last_overflow", document.state.scaler.last_overflow},
                   {"hysteresis", document.state.scaler.hysteresis},
                   {"clean_steps", document.state.scaler.clean_steps},
                   {"overflows", document.state.scaler.overflows},
                   {"halve_at_next_look", document.state.scaler.halve_at_next_look}}},
                 {"guard", to_json(document.state.guard)},
                 {"left_out", document.state.left_out},
                 {"loss", document.state.loss ? Json(*document.state.loss) : Json()},
                 {"planned_steps", document.state.planned_steps},
                 {"data", to_json(document.state.data)},
                 {"weights", hex64(document.state.weights)},
                 {"files", Json::object()}};
    for (const std::string& name : files) {
        PLIMSOLL_TRY(auto sum, sum_of(folder / name));
        json["files"][name] = std::move(sum);
    }
    json["crc32c"] = own_sum(json);
    return write_json(folder / state_file, json);
}

Result<StateDocument> verified_state(const fs::path& checkpoint, std::span<const char* const> files) {
    const fs::path path = checkpoint / state_file;
    PLIMSOLL_TRY(const auto read, read_json(path, 1 * MiB));
    const Json& json = read;
    if (!json.is_object() || !json.contains("crc32c") || json["crc32c"] != own_sum(json)) {
        return bad_input("{} is damaged: its checksum does not fit", path.string());
    }
    if (!json.contains("plimsoll_checkpoint") || json["plimsoll_checkpoint"] != version) {
        return bad_input("{} is not of checkpoint version {}; use the program that wrote it", path.string(), version);
    }
    StateDocument document;
    // The checksum held, so the fields are there unless somebody made the document up.
    try {
        document.state.step = json.at("step").get<std::int64_t>();
        document.state.samples = json.at("samples").get<std::uint64_t>();
        document.optimizer_steps = json.at("optimizer_steps").get<std::int64_t>();
        const Json& scaler = json.at("loss_scaler");
        document.state.scaler.scale = scaler.at("scale").get<double>();
        document.state.scaler.iteration = scaler.at("iteration").get<std::int64_t>();
        document.state.scaler.last_overflow = scaler.at("last_overflow").get<std::int64_t>();
        document.state.scaler.hysteresis = scaler.at("hysteresis").get<std::int64_t>();
        // Checkpoints from before there were other policies and a guard lack these.
        document.state.scaler.clean_steps = scaler.value("clean_steps", std::int64_t{0});
        document.state.scaler.overflows = scaler.value("overflows", std::int64_t{0});
        document.state.scaler.halve_at_next_look = scaler.value("halve_at_next_look", false);
        document.state.left_out = json.value("left_out", std::set<std::uint64_t>{});
        document.state.planned_steps = json.value("planned_steps", std::int64_t{0});
        if (json.contains("loss") && json["loss"].is_number()) document.state.loss = json["loss"].get<double>();
        document.state.weights = from_hex(json.value("weights", std::string()));
        if (json.contains("data")) document.state.data = fingerprint(json["data"]);
        if (json.contains("guard")) document.state.guard = guard_state(json["guard"]);
        const Json& listed = json.at("files");
        std::vector<std::string> names(files.begin(), files.end());
        if (names.empty()) {
            for (const auto& [name, sum] : listed.items()) names.push_back(name);
        }
        if (names.empty()) return bad_input("{} is damaged: it vouches for no file", path.string());
        for (const std::string& name : names) {
            if (name.find('/') != std::string::npos)
                return bad_input("{} is damaged: it names {}", path.string(), name);
            PLIMSOLL_CHECK(check_file(checkpoint / name, listed.at(name)));
        }
    } catch (const Json::exception& error) {
        return bad_input("{} is damaged: {}", path.string(), error.what());
    }
    if (document.state.step < 0 || document.optimizer_steps < 0 || !(document.state.scaler.scale >= 0)) {
        return bad_input("{} is damaged: a step count is below 0 or the loss scale is below 0", path.string());
    }
    const auto named = step_of(checkpoint.filename().string());
    if (named && *named != document.state.step) {
        return bad_input("{} is of step {}, and its folder is named {}; rename the folder", path.string(),
                         document.state.step, checkpoint.filename().string());
    }
    return document;
}

Result<std::optional<double>> stated_loss(const fs::path& checkpoint) {
    const fs::path path = checkpoint / state_file;
    PLIMSOLL_TRY(const Json json, read_json(path, 1 * MiB));
    if (!json.is_object() || !json.contains("step")) return bad_input("{} is damaged: it says no step", path.string());
    if (!json.contains("loss") || !json["loss"].is_number()) return std::nullopt;
    return json["loss"].get<double>();
}

std::optional<fs::path> newest_checkpoint(const fs::path& checkpoints, std::vector<std::string>* skipped,
                                          std::span<const char* const> files, std::int64_t before) {
    for (const std::int64_t step : checkpoint_steps(checkpoints)) {
        if (step >= before) continue;
        const fs::path path = checkpoints / checkpoint_name(step);
        const auto whole = verified_state(path, files);
        if (whole) return path;
        if (skipped != nullptr) skipped->push_back(fmt::format("{}: {}", checkpoint_name(step), whole.error().message));
    }
    return std::nullopt;
}

std::string no_whole_checkpoint(const fs::path& checkpoints, const std::vector<std::string>& damaged) {
    return fmt::format(
        "no checkpoint in {} is whole{}; put a copy of one back, or begin again at step 0 with `plimsoll train --resume "
        "--from-scratch --run {}`, which keeps the old files",
        checkpoints.string(), damaged.empty() ? "" : fmt::format(" ({})", fmt::join(damaged, "; ")),
        checkpoints.parent_path().string());
}

}  // namespace plimsoll
