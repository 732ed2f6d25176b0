// SPDX-License-Identifier: Apache-2.0
// Where ranks wait for one another: links, buckets, nodes, the pipeline.
#include <algorithm>

#include "core/doctor/plan_checks/plan_checks.h"
#include "core/plan/schedule_kind.h"

namespace plimsoll::doctor {

namespace {

/// A choice: where links take less than this share, halving their time wins less than a tenth of a step.
constexpr double much_on_links = 0.2;
/// Half of the bubble that four micro-batches a stage leave with many stages, (p - 1) / (4 p + p - 1) < 1/5 (Huang et
/// al. 2019, 2.3).
constexpr double large_bubble = 0.1;

std::string rank_settings(const char* key, std::int64_t value) { return fmt::format("layout.{}={}", key, value); }

/// Turns ranks of one kind into data-parallel ranks, at the same global batch where it divides.
void to_data(const Plan& plan, const char* key, std::int64_t now, std::vector<Settings>& all) {
    const Layout& l = plan.layout;
    for (const std::int64_t times : {2, 4, 8}) {
        if (now % times != 0) break;
        if (l.accumulation % times != 0) continue;
        Settings settings{rank_settings(key, now / times), rank_settings("dp", l.dp * times),
                          fmt::format("layout.accumulation={}", l.accumulation / times)};
        if (now / times == 1 && std::string_view(key) == "tp" && l.sequence_parallel)
            settings.push_back("layout.sequence_parallel=false");
        all.push_back(settings);
        if (l.zero_stage == 0 && l.pp == 1) {
            settings.push_back("layout.zero_stage=1");
            all.push_back(std::move(settings));
        }
    }
}

std::vector<Settings> with_fewer_bytes(const Plan& plan) {
    const Layout& l = plan.layout;
    std::vector<Settings> all;
    for (std::int64_t stage = 0; stage < l.zero_stage; ++stage)
        all.push_back({fmt::format("layout.zero_stage={}", stage)});
    to_data(plan, "tp", l.tp, all);
    to_data(plan, "cp", l.cp, all);
    for (const std::int64_t times : {2, 4})
        if (l.accumulation % times == 0)
            all.push_back({fmt::format("layout.micro_batch={}", l.micro_batch * times),
                           fmt::format("layout.accumulation={}", l.accumulation / times)});
    if (plan.numerics.dtype != Dtype::Fp32 && plan.numerics.fp32_gradients)
        all.push_back({"numerics.fp32_gradients=false"});
    return all;
}

void add_changes(const PlanFacts& facts, const std::vector<Variant>& winners, Finding& finding) {
    for (const Variant& winner : winners)
        finding.changes.push_back(
            {winner.settings, fmt::format("{} more tokens a second; {} of {} a rank", percent(winner.faster),
                                          format_bytes(winner.total), format_bytes(facts.memory.usable))});
}

void check_communication(const PlanFacts& facts, Sheet& sheet) {
    if (facts.plan.layout.world_size() == 1) return sheet.fine("communication", "one rank");
    if (!facts.hardware) return sheet.unknown("communication", facts.no_speed);
    const Seconds step = facts.time.total();
    std::string parts;
    double sum = 0;
    for (const TimePart part :
         {TimePart::Data, TimePart::Tensor, TimePart::Context, TimePart::Expert, TimePart::Pipeline}) {
        const double share = facts.time.of(part) / step;
        sum += share;
        if (share >= 0.005)
            parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", time_part_names[static_cast<std::size_t>(part)],
                                 percent(share));
    }
    const std::string words = fmt::format("{} of a step{}", percent(sum), parts.empty() ? "" : ": " + parts);
    if (sum < much_on_links) return sheet.fine("communication", words + ", as predicted");
    Finding finding{"slow-communication",
                    Severity::Warning,
                    "communication",
                    fmt::format("{} of a step waits for links.", percent(sum)),
                    {fmt::format("Predicted, where it is not hidden behind work: {}.", parts)},
                    {},
                    model_of_time};
    add_changes(facts, fastest(facts, with_fewer_bytes(facts.plan), 3), finding);
    if (finding.changes.empty())
        finding.evidence.push_back(
            "No neighbouring layout that fits sends less: `plimsoll plan` searches all of them; "
            "a larger batch spreads the gradients' way over more tokens.");
    sheet.found(std::move(finding));
}

/// Buckets are sent as the backward fills them: with few buckets, most of the transfer comes after the last layer.
void check_overlap(const PlanFacts& facts, Sheet& sheet) {
    const Layout& l = facts.plan.layout;
    if (l.dp * l.cp == 1) return sheet.fine("overlap", "no gradients travel");
    const Term* gradients = facts.memory.fullest().find("gradients");
    const Bytes bytes = gradients != nullptr ? gradients->bytes : 0;
    const Bytes bucket = facts.plan.training.bucket_mib * MiB;
    const auto buckets = static_cast<double>(bytes) / static_cast<double>(std::max<Bytes>(bucket, 1));
    constexpr Bytes worth_cutting = 100 * MiB;
    const std::string words =
        fmt::format("{} of gradients in buckets of {}", format_bytes(bytes), format_bytes(bucket));
    if (l.zero_stage >= 2 || bytes < worth_cutting || buckets >= 4) return sheet.fine("overlap", words);
    const std::int64_t mib = std::max<std::int64_t>(bytes / MiB / 16, 25);
    sheet.found(
        {"few-buckets",
         Severity::Advice,
         "overlap",
         "Gradients travel in few large buckets.",
         {words + fmt::format(": about {:.1f} of them. A bucket leaves when the backward has filled it, so the "
                              "last one's way is behind nothing.",
                              buckets)},
         {{{fmt::format("training.bucket_mib={}", mib)},
           fmt::format("about 16 buckets, of which all but the last travel behind the backward; `plimsoll bench "
                       "buckets` measures it ({} now)",
                       format_bytes(bucket))}},
         "Li et al. 2020, PyTorch Distributed, section 3.2.3"});
}

void check_nodes(const PlanFacts& facts, Sheet& sheet) {
    const Cluster& cluster = facts.plan.cluster;
    const Layout& l = facts.plan.layout;
    if (cluster.nodes == 1) return sheet.fine("nodes", "one node");
    const bool tensor_out = cluster.gpus_per_node % l.tp != 0;
    const bool context_out = cluster.gpus_per_node % (l.tp * l.cp) != 0;
    if (!tensor_out && (l.cp == 1 || !context_out))
        return sheet.fine("nodes", fmt::format("tp {} x cp {} of {} GPUs per node", l.tp, l.cp, cluster.gpus_per_node));
    Finding finding{tensor_out ? "tensor-parallel-across-nodes" : "context-parallel-across-nodes",
                    tensor_out ? Severity::Warning : Severity::Advice,
                    "nodes",
                    tensor_out
                        ? fmt::format("Tensor parallel {} spans nodes of {} GPUs.", l.tp, cluster.gpus_per_node)
                        : fmt::format("Context parallel {} spans nodes of {} GPUs.", l.cp, cluster.gpus_per_node),
                    {},
                    {},
                    "Narayanan et al. 2021, takeaway 1"};
    if (facts.hardware)
        finding.evidence.push_back(fmt::format(
            "A card sends {:.0f} GB/s within a node and {:.0f} between nodes; {} of a "
            "step goes to these links.",
            facts.hardware->node_link / 1e9, facts.hardware->nic / 1e9,
            percent((facts.time.of(TimePart::Tensor) + facts.time.of(TimePart::Context)) / facts.time.total())));
    std::vector<Settings> inside;
    if (tensor_out) {
        for (std::int64_t tp = cluster.gpus_per_node; tp >= 1; --tp) {
            if (l.tp % tp != 0 || cluster.gpus_per_node % tp != 0) continue;
            const std::int64_t times = l.tp / tp;
            inside.push_back({rank_settings("tp", tp), rank_settings("pp", l.pp * times)});
            if (l.zero_stage > 1) inside.back().push_back("layout.zero_stage=1");
        }
        to_data(facts.plan, "tp", l.tp, inside);
    } else {
        to_data(facts.plan, "cp", l.cp, inside);
    }
    add_changes(facts, fastest(facts, inside), finding);
    sheet.found(std::move(finding));
}

void check_bubble(const PlanFacts& facts, Sheet& sheet) {
    const Layout& l = facts.plan.layout;
    if (l.pp == 1) return sheet.fine("bubble", "no pipeline");
    if (!facts.hardware) return sheet.unknown("bubble", facts.no_speed);
    const double bubble = facts.time.of(TimePart::Bubble) / facts.time.total();
    const std::string words =
        fmt::format("{} of a step, with {} micro-batches over {} stages", percent(bubble), l.accumulation, l.pp);
    if (bubble < large_bubble) return sheet.fine("bubble", words);
    std::vector<Settings> others;
    for (std::size_t k = 0; k < schedule_names.size() && l.schedule_file.empty(); ++k) {
        const auto kind = static_cast<Schedule>(k);
        if (kind == l.schedule) continue;
        const std::string schedule = fmt::format("layout.schedule={}", schedule_names[k]);
        if (!takes_chunks(kind)) others.push_back({schedule});
        for (const std::int64_t chunks : {2, 4})
            if (takes_chunks(kind)) others.push_back({schedule, fmt::format("layout.chunks={}", chunks)});
    }
    for (const std::int64_t times : {2, 4, 8})
        if (l.micro_batch % times == 0)
            others.push_back({fmt::format("layout.micro_batch={}", l.micro_batch / times),
                              fmt::format("layout.accumulation={}", l.accumulation * times)});
    to_data(facts.plan, "pp", l.pp, others);
    Finding finding{
        "large-bubble",
        Severity::Warning,
        "bubble",
        fmt::format("{} of a step is pipeline bubble.", percent(bubble)),
        {fmt::format("{} micro-batches over {} stages under {}: filling and draining the pipeline is behind no work. "
                     "More micro-batches a stage, or a schedule that fills sooner, leave less of it.",
                     l.accumulation, l.pp, name_of(l.schedule))},
        {},
        "Narayanan et al. 2021; Qi et al. 2024; the step-time model"};
    add_changes(facts, fastest(facts, others, 3), finding);
    if (finding.changes.empty())
        finding.evidence.push_back(
            "No other schedule or split that fits wins 5 %: more accumulation would, with a "
            "larger global batch.");
    sheet.found(std::move(finding));
}

}  // namespace

void check_links(const PlanFacts& facts, Sheet& sheet) {
    check_overlap(facts, sheet);
    check_nodes(facts, sheet);
    check_communication(facts, sheet);
    check_bubble(facts, sheet);
}

}  // namespace plimsoll::doctor
