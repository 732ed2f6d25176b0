// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/estimate_json.h"
#include "core/base/json.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll {
namespace {

Json to_json(const Term& term) {
    return {{"key", term.key},     {"name", term.name},       {"category", name_of(term.category)},
            {"bytes", term.bytes}, {"formula", term.formula}, {"source", term.source}};
}

Json to_json(const std::vector<Term>& terms) {
    Json list = Json::array();
    for (const auto& term : terms) list.push_back(to_json(term));
    return list;
}

Json to_json(const RankMemory& rank) {
    Json modes = Json::object();
    for (std::size_t i = 0; i < recompute_names.size(); ++i)
        modes[std::string(recompute_names[i])] = rank.activations_by_recompute[i];
    return {{"stage", rank.stage},
            {"label", rank.label},
            {"ranks", rank.ranks},
            {"layers", rank.layers},
            {"parameters", rank.parameters},
            {"micro_batches_in_flight", rank.in_flight},
            {"total_bytes", rank.total()},
            {"live_bytes", rank.live()},
            {"reserved_bytes", rank.reserved()},
            {"terms", to_json(rank.terms)},
            {"activations_per_layer", rank.activations_per_layer},
            {"activations_by_recompute", modes}};
}

}  // namespace

Json to_json(const MemoryEstimate& estimate, const Plan& plan) {
    Json ranks = Json::array();
    for (const auto& rank : estimate.stages) ranks.push_back(to_json(rank));
    Json rules = Json::array();
    for (const auto& rule : estimate.rules)
        rules.push_back({{"name", rule.name},
                         {"formula", rule.formula},
                         {"rule_bytes", rule.rule},
                         {"exact_bytes", rule.exact},
                         {"note", rule.note}});
    Json bubble = 0.0, closed_form = 0.0;
    if (plan.layout.pp > 1) {
        bubble = closed_form = nullptr;
        if (const auto pipeline = simulate_pipeline(plan)) {
            bubble = pipeline->timeline.bubble;
            if (pipeline->closed_form) closed_form = pipeline->closed_form->bubble;
        }
    }
    return {{"model", {{"name", plan.model.name}, {"parameters", estimate.parameters}}},
            {"usable_bytes", estimate.usable},
            {"fits", estimate.fits()},
            {"host_bytes", estimate.host},
            {"host_terms", to_json(estimate.host_terms)},
            {"ranks", std::move(ranks)},
            {"bubble", std::move(bubble)},
            {"closed_form_bubble", std::move(closed_form)},
            {"rules", std::move(rules)},
            {"notes", estimate.notes}};
}

}  // namespace plimsoll
