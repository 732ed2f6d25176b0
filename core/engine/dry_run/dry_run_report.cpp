// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dry_run/dry_run_report.h"

#include <algorithm>

namespace plimsoll::engine {

namespace {

/// The phase that an event of a list of phases falls into.
template <class Phases>
std::string phase_at(const Phases& phases, std::size_t event) {
    std::string name;
    for (const auto& phase : phases) {
        if (static_cast<std::size_t>(phase.event) <= event) name = phase.name;
    }
    return name;
}

}  // namespace

Json to_json(const DryRunResult& result, std::size_t most) {
    const MemoryTimeline& timeline = result.timeline;
    Json categories = Json::object();
    for (std::size_t c = 0; c < memory_categories; ++c) {
        categories[std::string(memory_category_names[c])] = timeline.at_peak[c];
    }
    Json standing = Json::array();
    for (std::size_t i = 0; i < std::min(most, timeline.standing.size()); ++i) {
        const StandingBlocks& each = timeline.standing[i];
        standing.push_back({{"layer", each.layer},
                            {"op", each.op},
                            {"category", name_of(each.category)},
                            {"phase", each.phase},
                            {"count", each.count},
                            {"bytes", each.bytes}});
    }
    Json json{{"rank", result.rank},
              {"peak", timeline.peak},
              {"peak_event", timeline.peak_event},
              {"phase", phase_at(timeline.phases, static_cast<std::size_t>(timeline.peak_event))},
              {"categories", std::move(categories)}};
    const AllocatorFigures& card = result.card.figures;
    const auto on_card = [&](std::int64_t value) { return result.on_card ? Json(value) : Json(); };
    json["reserved"] = on_card(card.reserved_peak);
    json["allocated"] = on_card(card.allocated_peak);
    json["requested"] = on_card(card.requested_peak);
    json["segments"] = on_card(card.segments);
    json["inactive_split"] = on_card(card.inactive_split);
    json["retries"] = on_card(card.retries);
    json["out_of_memory"] = result.card.out_of_memory;
    json["out_of_memory_phase"] =
        result.card.out_of_memory_event < 0
            ? ""
            : phase_at(result.trace.phases(), static_cast<std::size_t>(result.card.out_of_memory_event));
    json["host"] = result.host_peak;
    json["micro_batches"] = result.micro_batches;
    json["events"] = timeline.events;
    json["seconds"] = result.seconds;
    json["standing"] = std::move(standing);
    return json;
}

}  // namespace plimsoll::engine
