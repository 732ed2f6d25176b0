// SPDX-License-Identifier: Apache-2.0
#include "core/planner/planner_json.h"
#include "core/base/json.h"
#include "core/frameworks/framework.h"
#include "core/planner/layout_text.h"
#include "core/planner/neighbours.h"
#include "core/planner/recommendations.h"
#include "core/planner/space.h"

namespace plimsoll {

namespace {

Json layout_json(const Layout& l) {
    return {{"dp", l.dp},
            {"tp", l.tp},
            {"pp", l.pp},
            {"cp", l.cp},
            {"ep", l.ep},
            {"sequence_parallel", l.sequence_parallel},
            {"zero_stage", l.zero_stage},
            {"micro_batch", l.micro_batch},
            {"accumulation", l.accumulation},
            {"schedule", name_of(l.schedule)},
            {"chunks", l.chunks},
            {"recompute", name_of(l.recompute)},
            {"offload_optimizer", name_of(l.offload_optimizer)}};
}

Json candidate_json(const Candidate& c) {
    Json json{{"words", layout_words(c.layout)},
              {"gpu", c.cluster.gpu},
              {"gpus", c.gpus()},
              {"layout", layout_json(c.layout)},
              {"peak_bytes", c.peak},
              {"host_bytes", c.host},
              {"out_of_memory_probability", c.out_of_memory},
              {"step_seconds", c.step},
              {"tokens_per_second", c.tokens_per_second},
              {"mfu", c.mfu},
              {"on_front", c.on_front},
              {"seconds", to_json(c.time)}};
    if (c.price_per_million_tokens > 0) json["price_per_million_tokens"] = c.price_per_million_tokens;
    return json;
}

Json all_json(const std::vector<Candidate>& candidates) {
    Json json = Json::array();
    for (const auto& candidate : candidates) json.push_back(candidate_json(candidate));
    return json;
}

}  // namespace

Json to_json(const PlanRequest& request, const PlanResult& result) {
    Json json{{"objective", name_of(request.objective)},
              {"global_batch", global_batch_of(request)},
              {"framework", name_of(request.framework)},
              {"fit_probability", request.fit_probability},
              {"counts",
               {{"layouts", result.counts.layouts},
                {"evaluated", result.counts.evaluated},
                {"pruned", result.counts.pruned},
                {"seconds", result.counts.seconds},
                {"threads", result.counts.threads}}},
              {"ranked", all_json(result.ranked)},
              {"front", all_json(result.front)}};
    if (!result.ranked.empty()) {
        json["neighbours"] = Json::array();
        for (const auto& n : neighbours(request, result.ranked.front()))
            json["neighbours"].push_back({{"change", n.change}, {"reason", n.reason}});
        if (request.tokens > 0) {
            const auto budget = budget_of(request, result.ranked.front());
            json["budget"] = {{"tokens", budget.tokens},
                              {"steps", budget.steps},
                              {"seconds", budget.time},
                              {"gpu_hours", budget.gpu_hours}};
            if (request.price_per_gpu_hour > 0) json["budget"]["price"] = budget.price;
        }
    }
    if (request.host_memory > 0) json["host_memory_bytes"] = request.host_memory;
    json["recommendations"] = Json::array();
    for (const auto& r : recommendations(request, result))
        json["recommendations"].push_back({{"rule", r.rule}, {"source", r.source}, {"holds", r.holds}, {"why", r.why}});
    if (!result.binding.empty()) {
        json["binding"] = result.binding;
        json["relaxations"] = Json::array();
        for (const auto& relaxation : result.relaxations) {
            Json one{{"words", relaxation.words}, {"settings", relaxation.settings}};
            if (relaxation.candidate) one["best"] = candidate_json(*relaxation.candidate);
            json["relaxations"].push_back(std::move(one));
        }
        if (result.leanest) json["leanest"] = candidate_json(*result.leanest);
    }
    if (!result.notes.empty()) json["notes"] = result.notes;
    return json;
}

}  // namespace plimsoll
