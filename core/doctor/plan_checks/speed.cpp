// SPDX-License-Identifier: Apache-2.0
// Parts of a step's time that each rank could save: micro-batch, recomputation, attention, dtype.
#include <cmath>

#include "core/doctor/plan_checks/plan_checks.h"
#include "core/plan/gpu.h"

namespace plimsoll::doctor {

namespace {

/// The same global batch where accumulation allows; else a larger one with the rate that goes with it.
std::vector<Settings> larger_micro_batches(const Plan& plan) {
    const Layout& l = plan.layout;
    std::vector<Settings> all;
    for (const std::int64_t times : {2, 4, 8}) {
        Settings settings{fmt::format("layout.micro_batch={}", l.micro_batch * times)};
        if (l.accumulation % times == 0)
            settings.push_back(fmt::format("layout.accumulation={}", l.accumulation / times));
        else if (l.accumulation > 1)
            continue;
        else if (plan.lr.batch_rule == BatchRule::None)
            settings.push_back(lr_setting(plan, plan.optimizer.kind == OptimizerKind::Sgd
                                                    ? static_cast<double>(times)
                                                    : std::sqrt(static_cast<double>(times))));
        all.push_back(std::move(settings));
    }
    return all;
}

void check_micro_batch(const PlanFacts& facts, Sheet& sheet) {
    const Layout& l = facts.plan.layout;
    const auto all = larger_micro_batches(facts.plan);
    const auto winners = fastest(facts, all);
    const std::int64_t tokens = l.micro_batch * facts.plan.data.sequence_length / l.cp;
    if (winners.empty()) {
        std::string words = fmt::format("{} tokens at once", format_count(tokens));
        const auto next = all.empty() ? std::nullopt : variant_of(facts, all.front());
        if (next)
            words += fmt::format("; twice as many would be {} {}{}", percent(std::abs(next->faster)),
                                 next->faster < 0 ? "slower" : "faster", next->safe ? "" : " and would not fit");
        return sheet.fine("micro-batch", words);
    }
    Finding finding{
        "small-micro-batch",
        Severity::Advice,
        "micro-batch",
        fmt::format("A micro-batch of {} {} too small to fill the {}.", l.micro_batch,
                    l.micro_batch == 1 ? "sequence is" : "sequences is", facts.plan.cluster.gpu),
        {fmt::format("{} tokens at once. Products of few rows leave multiprocessors idle, and kernels that end "
                     "soon wait for the next launch ({} of a step).",
                     format_count(tokens), percent(facts.time.of(TimePart::Launch) / facts.time.total()))},
        {},
        model_of_time};
    for (const Variant& winner : winners)
        finding.changes.push_back(
            {winner.settings, fmt::format("{} more tokens a second; {} of {} a rank{}", percent(winner.faster),
                                          format_bytes(winner.total), format_bytes(facts.memory.usable),
                                          l.accumulation > 1 ? "" : "; the global batch grows")});
    sheet.found(std::move(finding));
}

void check_recomputation(const PlanFacts& facts, Sheet& sheet) {
    const Layout& l = facts.plan.layout;
    if (l.recompute == Recompute::None) return sheet.fine("recompute-needed", "nothing is recomputed");
    if (!facts.hardware) return sheet.unknown("recompute-needed", facts.no_speed);
    std::vector<Settings> less{{"layout.recompute=none"}, {"layout.recompute=selective"}};
    if (l.recompute != Recompute::Mlp) less.push_back({"layout.recompute=mlp"});
    if (l.recompute == Recompute::Full)
        for (const std::int64_t every : {2, 3, 4})
            if (every > l.recompute_every) less.push_back({fmt::format("layout.recompute_every={}", every)});
    const double again = facts.time.of(TimePart::Recompute) / facts.time.total();
    const auto winners = fastest(facts, less);
    if (winners.empty())
        return sheet.fine(
            "recompute-needed",
            fmt::format("{} of a step computes again, and less does not fit or wins nothing", percent(again)));
    Finding finding{"needless-recomputation",
                    Severity::Advice,
                    "recompute-needed",
                    "More is recomputed than the memory asks for.",
                    {fmt::format("{} of a step computes again what was computed, and {} of {} a rank are in use.",
                                 percent(again), format_bytes(facts.total()), format_bytes(facts.memory.usable))},
                    {},
                    model_of_time};
    for (const Variant& winner : winners)
        finding.changes.push_back(
            {winner.settings, fmt::format("{} more tokens a second, and {} of {} a rank", percent(winner.faster),
                                          format_bytes(winner.total), format_bytes(facts.memory.usable))});
    sheet.found(std::move(finding));
}

void check_attention(const PlanFacts& facts, Sheet& sheet) {
    if (facts.plan.numerics.attention == Attention::Flash) return sheet.fine("attention", "flash");
    if (!facts.hardware) return sheet.unknown("attention", facts.no_speed);
    const auto flash = variant_of(facts, {"numerics.attention=flash"});
    const Bytes saves = flash ? facts.total() - flash->total : 0;
    if (!flash || (flash->faster <= worth_telling && saves * 20 <= facts.total()))
        return sheet.fine("attention", "eager, which costs little at this length");
    sheet.found({"eager-attention",
                 Severity::Advice,
                 "attention",
                 "Attention writes its score matrices to memory.",
                 {fmt::format("{} heads x {}^2 scores a sequence and layer.", facts.plan.model.num_heads,
                              format_count(facts.plan.data.sequence_length))},
                 {{flash->settings, fmt::format("{} more tokens a second, {} less memory", percent(flash->faster),
                                                format_bytes(saves))}},
                 "Dao et al. 2022, FlashAttention"});
}

void check_tensor_cores(const PlanFacts& facts, Sheet& sheet) {
    if (!facts.on_gpu()) return sheet.fine("tensor-cores", "CPU ranks");
    const auto gpu = find_gpu(facts.plan.cluster.gpu);
    if (facts.plan.numerics.dtype != Dtype::Fp32 || !gpu) return sheet.fine("tensor-cores", "16-bit products");
    const auto winners =
        fastest(facts, {gpu->bf16_tflops > 0 ? Settings{"numerics.dtype=bf16"} : Settings{"numerics.dtype=fp16"}});
    if (winners.empty()) return sheet.fine("tensor-cores", "fp32; 16 bits would win nothing here");
    sheet.found({"fp32-on-gpu",
                 Severity::Warning,
                 "tensor-cores",
                 "Products are computed in fp32.",
                 {fmt::format("The {} has {:g} TFLOP/s in 16 bits and {:g} in fp32.", gpu->name,
                              std::max(gpu->bf16_tflops, gpu->fp16_tflops), gpu->fp32_tflops)},
                 {{winners[0].settings,
                   fmt::format("{} more tokens a second, {} a rank in place of {}", percent(winners[0].faster),
                               format_bytes(winners[0].total), format_bytes(facts.total()))}},
                 "Micikevicius et al. 2018, Mixed Precision Training"});
}

}  // namespace

void check_speed(const PlanFacts& facts, Sheet& sheet) {
    check_tensor_cores(facts, sheet);
    if (!facts.hardware) sheet.unknown("micro-batch", facts.no_speed);
    if (facts.hardware) check_micro_batch(facts, sheet);
    check_recomputation(facts, sheet);
    check_attention(facts, sheet);
}

}  // namespace plimsoll::doctor
