// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/calibration_file.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "core/base/json.h"

namespace plimsoll {

namespace {

using Rate = std::pair<const char*, double Hardware::*>;
constexpr std::array rates{Rate{"peak", &Hardware::peak}, Rate{"memory", &Hardware::memory},
                           Rate{"node_link", &Hardware::node_link}};

std::filesystem::path calibration_folder() {
    if (const char* folder = std::getenv("PLIMSOLL_CALIBRATION"); folder && *folder) return folder;
    if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data)
        return std::filesystem::path(data) / "plimsoll" / "calibration";
    if (const char* home = std::getenv("HOME"); home && *home)
        return std::filesystem::path(home) / ".local" / "share" / "plimsoll" / "calibration";
    return {};
}

Result<void> read_rates(const Json& json, const std::string& what, Hardware& hardware) {
    for (const auto& [key, value] : json.items()) {
        const auto* rate = std::find_if(rates.begin(), rates.end(), [&](const Rate& r) { return key == r.first; });
        if (rate == rates.end()) return bad_input("{}: there is no rate \"{}\"", what, key);
        if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0)
            return bad_input("{}: rates.{} has to be a number above 0, not {}", what, key, shown(value));
        hardware.*(rate->second) = value.get<double>();
    }
    return {};
}

}  // namespace

std::filesystem::path calibration_path(const std::string& gpu) {
    const auto folder = calibration_folder();
    return folder.empty() ? folder : folder / (gpu + ".json");
}

Result<void> apply_calibration(const std::string& file, Hardware& hardware) {
    auto path = std::filesystem::path(file);
    if (file.empty()) {
        path = calibration_path(hardware.gpu);
        std::error_code error;
        if (path.empty() || !std::filesystem::exists(path, error)) return {};
    }
    PLIMSOLL_TRY(const auto json, read_json(path));
    const auto what = path.string();
    if (!json.is_object() || json.value("plimsoll_calibration", Json()) != 1)
        return bad_input(
            "{} is no calibration: \"plimsoll_calibration\": 1 is missing; make one with plimsoll bench --calibrate",
            what);
    const auto gpu = json.value("gpu", Json());
    if (gpu != hardware.gpu)
        return bad_input("{} was measured on {}, and the plan is for {}; measure there with plimsoll bench --calibrate",
                         what, shown(gpu), hardware.gpu);
    if (json.contains("efficiency"))
        if (auto read = read_efficiency(json.at("efficiency"), what, hardware.efficiency); !read) return read;
    if (json.contains("rates")) {
        if (!json.at("rates").is_object()) return bad_input("{}: rates has to be an object", what);
        if (auto read = read_rates(json.at("rates"), what, hardware); !read) return read;
    }
    const auto measured = json.value("measured", Json("this machine"));
    hardware.source = fmt::format("measured: {}", measured.is_string() ? measured.get<std::string>() : "this machine");
    return {};
}

Result<void> write_calibration(const std::filesystem::path& file, const Hardware& hardware,
                               const std::string& measured) {
    Json json{{"plimsoll_calibration", 1}, {"gpu", hardware.gpu}, {"measured", measured}};
    for (const auto& [name, rate] : rates) json["rates"][name] = hardware.*rate;
    json["efficiency"] = to_json(hardware.efficiency);
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    return write_json(file, json);
}

Efficiency cpu_efficiency() {
    Efficiency e;
    e.matmul = 0.8;
    e.small_tile = e.smaller_tile = 1;
    e.inner_ramp = 8;
    e.scores = e.flash = e.flash_backward = 0.3;
    e.memory = 0.6;
    e.kernel = 1e-6;
    e.host_kernel = 5e-6;
    e.host_collective = 5e-5;
    e.node_link = 0.5;
    e.node_hop = 2e-5;
    e.nic_hop = 5e-5;
    e.step = 1e-3;
    e.gradient_overlap = 0.3;
    return e;
}

}  // namespace plimsoll
