// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/run_checks/dry_run_peak.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/run/processes/dry_run_process.h"
#include "core/run/processes/supervisor.h"

namespace plimsoll::doctor {

namespace {

constexpr std::size_t shown = 3;

/// Op, category and phase of equal blocks, over all layers.
using Block = std::array<std::string, 3>;

/// Throws Json::exception where the report is of another form.
std::vector<std::string> words_of(const Json& rank) {
    std::map<Block, std::pair<Bytes, std::int64_t>> blocks;  // bytes and layers
    for (const Json& each : rank.at("standing")) {
        auto& [bytes, layers] = blocks[{each.at("op").get<std::string>(), each.at("category").get<std::string>(),
                                        each.at("phase").get<std::string>()}];
        bytes += each.at("bytes").get<Bytes>();
        ++layers;
    }
    std::vector<std::pair<Block, std::pair<Bytes, std::int64_t>>> sorted(blocks.begin(), blocks.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    std::string list;
    for (std::size_t i = 0; i < std::min(shown, sorted.size()); ++i) {
        const auto& [block, size] = sorted[i];
        const auto& [op, category, phase] = block;
        const std::string made = op.empty() ? "made at the start" : fmt::format("of {} in {}", op, phase);
        list += fmt::format("{}{} {} ({}{})", i == 0 ? "" : ", ", format_bytes(size.first), made, category,
                            size.second > 1 ? fmt::format(", {} layers", size.second) : std::string());
    }
    return {fmt::format("A dry run of the rank has its peak of {} in {}; the most that stands then: {}.",
                        format_bytes(rank.at("peak").get<Bytes>()), rank.at("phase").get<std::string>(), list)};
}

}  // namespace

std::vector<std::string> dry_run_peak(const Plan& plan, int rank) {
    if (rank >= plan.layout.world_size() || !find_worker()) return {};
    DryRunRequest request;
    request.ranks = {rank};
    const auto report = run_dry(plan, request);
    if (!report) return {};
    try {
        return words_of(report->at("ranks").at(0));
    } catch (const Json::exception&) {
        return {};
    }
}

}  // namespace plimsoll::doctor
