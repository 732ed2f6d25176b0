// SPDX-License-Identifier: Apache-2.0
#include "core/control/fault.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace plimsoll {

namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<double> number(std::string_view text) {
    const std::string owned(text);
    char* end = nullptr;
    const double value = std::strtod(owned.c_str(), &end);
    if (owned.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// Whether the setting was understood.
bool set(Fault& fault, std::string_view name, std::string_view text) {
    if (name == "where") {
        fault.backward = text == "backward";
        return fault.backward || text == "forward";
    }
    const auto value = number(text);
    if (!value) return false;
    if (name == "factor" || name == "ms") {
        (name == "ms" ? fault.milliseconds : fault.factor) = *value;
        return *value > 0;
    }
    if (*value != std::floor(*value) || std::abs(*value) > 1e12) return false;
    const auto whole = static_cast<std::int64_t>(*value);
    if (name == "step") fault.step = whole;
    if (name == "batches") fault.batches = whole;
    if (name == "layer") fault.layer = whole;
    if (name == "rank") fault.rank = whole;
    if (name == "step" || name == "batches") return whole >= 1;
    return (name == "layer" && whole >= -1) || (name == "rank" && whole >= 0);
}

}  // namespace

Result<std::vector<Fault>> parse_faults(std::string_view text) {
    std::vector<Fault> faults;
    if (text.empty()) return faults;
    for (const std::string_view each : parts_of(text, ';')) {
        const std::size_t at = each.find('@');
        const std::string_view name = each.substr(0, at);
        const auto kind = std::find(fault_names.begin(), fault_names.end(), name);
        if (kind == fault_names.end()) {
            return bad_input(
                "\"{}\" is no fault; they are nan, inf, spike, overflow, oom and slow-rank, as in "
                "nan@step=5,layer=1",
                name);
        }
        Fault fault;
        fault.kind = static_cast<FaultKind>(kind - fault_names.begin());
        if (at != std::string_view::npos) {
            for (const std::string_view setting : parts_of(each.substr(at + 1), ',')) {
                const std::size_t equals = setting.find('=');
                const bool known = equals != std::string_view::npos &&
                                   set(fault, setting.substr(0, equals), setting.substr(equals + 1));
                if (!known) {
                    return bad_input(
                        "\"{}\" does not set a fault; give step, batches, layer, where=forward or "
                        "backward, factor, rank or ms, as in nan@step=5,layer=1",
                        setting);
                }
            }
        }
        faults.push_back(fault);
    }
    return faults;
}

bool FaultPlace::meets(std::int64_t step, std::uint64_t samples, std::uint64_t global_batch) {
    if (fault_.kind == FaultKind::SlowRank) return step >= fault_.step;
    if (!found_ && step == fault_.step) {
        found_ = true;
        first_ = samples;
    }
    return found_ && samples >= first_ && samples - first_ < static_cast<std::uint64_t>(fault_.batches) * global_batch;
}

}  // namespace plimsoll
