// SPDX-License-Identifier: Apache-2.0
// Why the layouts one step away from the best one were not taken.
#include "core/planner/neighbours.h"

#include <algorithm>

#include "core/frameworks/error_model.h"
#include "core/frameworks/estimate_under.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/machine.h"
#include "core/plan/plan_io.h"
#include "core/plan/schedule_kind.h"
#include "core/planner/fit_limit.h"
#include "core/planner/framework_rules.h"
#include "core/planner/space.h"

namespace plimsoll {

namespace {

struct Change {
    std::string words;
    Layout layout;
};

std::string counted(std::int64_t number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// The layout with dp and accumulation changed so that GPUs and global batch stay the same; the error says what keeps
/// it from that.
Result<Layout> refilled(Layout layout, std::int64_t gpus, std::int64_t batch) {
    const auto others = layout.tp * layout.pp * layout.cp;
    const auto product = fmt::format("tp {} x pp {} x cp {}", layout.tp, layout.pp, layout.cp);
    if (others > gpus) return bad_input("{} takes {} GPUs of {}", product, others, gpus);
    if (gpus % others != 0) return bad_input("{} does not divide {}", product, counted(gpus, "GPU"));
    layout.dp = gpus / others;
    if (layout.ep > 1 && layout.dp % layout.ep != 0)
        return bad_input("{} data-parallel {} not divide by {} expert-parallel ones", layout.dp,
                         layout.dp == 1 ? "rank does" : "ranks do", layout.ep);
    const auto each = layout.dp * layout.micro_batch;
    if (batch % each != 0)
        return bad_input("{} do not divide by {} of {} at once", counted(batch, "sequence"),
                         counted(layout.dp, "data-parallel rank"), layout.micro_batch);
    layout.accumulation = batch / each;
    if (layout.tp == 1) layout.sequence_parallel = false;
    if (layout.zero_stage == 0) layout.offload_optimizer = Offload::None;
    return layout;
}

std::vector<Change> changes_of(const PlanRequest& request, const Candidate& best) {
    std::vector<Change> all;
    const auto& from = best.layout;
    const auto number = [&](const char* name, std::int64_t Layout::*member, std::int64_t value) {
        if (value < 1 || value == from.*member) return;
        Layout to = from;
        to.*member = value;
        // ZeRO-2 and 3 do not go with a pipeline: its neighbour is ZeRO-1.
        if (from.pp == 1 && to.pp > 1) to.zero_stage = std::min<std::int64_t>(to.zero_stage, 1);
        all.push_back({fmt::format("{} {} instead of {}", name, value, from.*member), to});
    };
    for (const bool more : {false, true}) {
        const auto step = [&](std::int64_t value) { return more ? value * 2 : value / 2; };
        number("tp", &Layout::tp, step(from.tp));
        number("pp", &Layout::pp, step(from.pp));
        number("cp", &Layout::cp, step(from.cp));
        if (request.plan.model.moe()) number("ep", &Layout::ep, step(from.ep));
        number("micro-batch", &Layout::micro_batch, step(from.micro_batch));
        if (from.pp > 1 && takes_chunks(from.schedule))
            number("chunks", &Layout::chunks, more ? from.chunks + 1 : from.chunks - 1);
    }
    const auto zero = [&](std::int64_t stage) {
        // One rank has nobody to share with: without offload its stages are the same run.
        const bool alone = from.dp * from.cp == 1 && from.offload_optimizer == Offload::None;
        if (stage < 0 || stage > 3 || stage == from.zero_stage || alone) return;
        Layout to = from;
        to.zero_stage = stage;
        all.push_back({fmt::format("ZeRO-{} instead of ZeRO-{}", stage, from.zero_stage), to});
    };
    zero(from.zero_stage - 1);
    zero(from.zero_stage + 1);
    for (std::size_t i = 0; i < recompute_names.size(); ++i) {
        if (static_cast<Recompute>(i) == from.recompute) continue;
        Layout to = from;
        to.recompute = static_cast<Recompute>(i);
        if (to.recompute != Recompute::Full) to.recompute_every = 1;
        if (to.recompute == Recompute::None) to.recompute_stages = 0;
        all.push_back({fmt::format("recomputation {} instead of {}", recompute_names[i], name_of(from.recompute)), to});
    }
    if (from.tp > 1) {
        Layout to = from;
        to.sequence_parallel = !from.sequence_parallel;
        all.push_back({from.sequence_parallel ? "no sequence parallelism" : "sequence parallelism", to});
    }
    if (from.zero_stage > 0 && !request.plan.cluster.on_cpu()) {
        Layout to = from;
        const bool off = from.offload_optimizer == Offload::None;
        to.offload_optimizer = off ? Offload::Cpu : Offload::None;
        all.push_back({off ? "the optimizer in host memory" : "the optimizer on the GPU", to});
    }
    return all;
}

/// The part of the step's time that grows most between the two.
std::string_view grown(const StepTime& from, const StepTime& to) {
    std::size_t most = 0;
    for (std::size_t i = 1; i < to.parts.size(); ++i)
        if (to.parts[i] - from.parts[i] > to.parts[most] - from.parts[most]) most = i;
    return time_part_names[most];
}

std::string reason_of(const PlanRequest& request, const Candidate& best, const Candidate& other, Bytes usable) {
    if (other.peak > usable)
        return fmt::format("needs {} of {} a rank", format_bytes(other.peak), format_bytes(usable));
    if (other.peak > fit_limit(request, other.cluster, usable))
        return fmt::format(
            "needs {} of {} a rank: {:.1f} % to run out of memory{}", format_bytes(other.peak), format_bytes(usable),
            100 * other.out_of_memory,
            request.headroom > 0 ? fmt::format(", and {:.0f} % are to stay free", 100 * request.headroom) : "");
    if (!host_holds(request, other.cluster, other.host))
        return fmt::format("needs {} of host memory a machine of {}", format_bytes(host_of_machine(other)),
                           format_bytes(request.host_memory));
    const double slower = best.step > 0 ? other.step / best.step - 1 : 0;
    if (slower > 0) return fmt::format("{:.1f} % slower: more {}", 100 * slower, grown(best.time, other.time));
    if (request.objective == Objective::Memory)
        return fmt::format("{:.1f} % faster, but needs {} more a rank", -100 * slower,
                           format_bytes(other.peak - best.peak));
    return slower == 0 ? std::string("as fast") : fmt::format("{:.1f} % faster, outside the limits", -100 * slower);
}

}  // namespace

std::vector<Neighbour> neighbours(const PlanRequest& request, const Candidate& candidate) {
    std::vector<Neighbour> all;
    const auto hardware = hardware_of(candidate.cluster, request.plan.numerics.dtype);
    const auto bytes = usable_bytes(candidate.cluster);
    if (!hardware || !bytes) return all;
    const auto batch = global_batch_of(request);
    for (const auto& change : changes_of(request, candidate)) {
        Neighbour neighbour{change.words, {}, std::nullopt};
        const auto layout = refilled(change.layout, candidate.gpus(), batch);
        if (!layout) {
            neighbour.reason = layout.error().message;
            all.push_back(std::move(neighbour));
            continue;
        }
        Candidate other = candidate;
        other.layout = *layout;
        const auto plan = plan_of(request, other);
        if (const auto problems = check_plan(plan); !problems.empty()) {
            neighbour.reason = problems.front().sentence;
        } else if (const char* refusal = refusal_of(request.framework, plan, plan.layout)) {
            neighbour.reason = fmt::format("{} {}", profile_of(request.framework).title, refusal);
        } else if (const auto estimate = estimate_under(request.framework, plan); estimate) {
            other.peak = estimate->fullest().total();
            other.host = estimate->host;
            other.out_of_memory =
                out_of_memory_probability(request.framework, other.peak, *bytes, !other.cluster.on_cpu());
            set_times(request, *hardware, other);
            neighbour.reason = reason_of(request, candidate, other, *bytes);
            neighbour.candidate = std::move(other);
        } else {
            neighbour.reason = estimate.error().message;
        }
        all.push_back(std::move(neighbour));
    }
    return all;
}

}  // namespace plimsoll
