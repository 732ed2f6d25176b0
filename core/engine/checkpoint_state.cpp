// SPDX-License-Identifier: Apache-2.0
#include "core/engine/checkpoint_state.h"

#include <charconv>
#include <cmath>

#include "core/engine/file_io.h"
#include "core/telemetry/frame.h"

namespace plimsoll::engine {

namespace fs = std::filesystem;

namespace {

constexpr int version = 1;
constexpr std::array files{model_file, optimizer_file, config_file};

std::string hex(std::uint32_t value) { return fmt::format("{:08x}", value); }

/// Checksum of the document's text, taken without the checksum itself.
std::string own_sum(Json document) {
    document.erase("crc32c");
    return hex(crc32c(document.dump()));
}

Result<void> check_file(const fs::path& path, const Json& written) {
    const auto sum = sum_of_file(path);
    if (!sum) return tl::unexpected(sum.error());
    const Json found = {{"bytes", sum->bytes}, {"crc32c_of_blocks", hex(sum->crc)}};
    if (found == written) return {};
    return bad_input("{} is not as it was written ({} bytes, {} were written)", path.string(), sum->bytes,
                     written.value("bytes", std::uint64_t{0}));
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("step-{:08}", step); }

std::optional<std::int64_t> step_of(const std::string& name) {
    constexpr std::string_view prefix = "step-";
    if (!name.starts_with(prefix)) return std::nullopt;
    std::int64_t step = -1;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, step);
    if (error != std::errc() || stop != end || step < 0 || checkpoint_name(step) != name) return std::nullopt;
    return step;
}

Result<void> write_state(const fs::path& folder, const StateDocument& document) {
    Json json = {{"plimsoll_checkpoint", version},
                 {"step", document.state.step},
                 {"samples", document.state.samples},
                 {"optimizer_steps", document.optimizer_steps},
                 {"loss_scaler",
                  {{"scale", document.state.scaler.scale},
                   {"iteration", document.state.scaler.iteration},
                   {"last_overflow", document.state.scaler.last_overflow},
                   {"hysteresis", document.state.scaler.hysteresis}}},
                 {"files", Json::object()}};
    for (const char* name : files) {
        const auto sum = sum_of_file(folder / name);
        if (!sum) return tl::unexpected(sum.error());
        json["files"][name] = {{"bytes", sum->bytes}, {"crc32c_of_blocks", hex(sum->crc)}};
    }
    json["crc32c"] = own_sum(json);
    return write_json(folder / state_file, json);
}

Result<StateDocument> verified_state(const fs::path& checkpoint) {
    const fs::path path = checkpoint / state_file;
    const auto read = read_json(path, 1 * MiB);
    if (!read) return tl::unexpected(read.error());
    const Json& json = *read;
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
        for (const char* name : files) {
            if (auto whole = check_file(checkpoint / name, json.at("files").at(name)); !whole) {
                return tl::unexpected(whole.error());
            }
        }
    } catch (const Json::exception& error) {
        return bad_input("{} is damaged: {}", path.string(), error.what());
    }
    if (document.state.step < 0 || document.optimizer_steps < 0 || !(document.state.scaler.scale > 0)) {
        return bad_input("{} is damaged: a step count is below 0 or the loss scale is not above 0", path.string());
    }
    const auto named = step_of(checkpoint.filename().string());
    if (named && *named != document.state.step) {
        return bad_input("{} is of step {}, and its folder is named {}; rename the folder", path.string(),
                         document.state.step, checkpoint.filename().string());
    }
    return document;
}

}  // namespace plimsoll::engine
