// SPDX-License-Identifier: Apache-2.0
// Dtypes and clipping, as the plan sets them.
#include "core/doctor/plan_checks/plan_checks.h"
#include "core/plan/gpu.h"

namespace plimsoll::doctor {

namespace {

bool has_bf16(const Cluster& cluster) {
    if (cluster.on_cpu()) return true;
    const auto gpu = find_gpu(cluster.gpu);
    return gpu && gpu->bf16_tflops > 0;
}

void check_half_precision(const Plan& plan, Sheet& sheet) {
    const bool bf16 = has_bf16(plan.cluster);
    const char* where = plan.cluster.on_cpu() ? "a CPU" : plan.cluster.gpu.c_str();
    if (plan.numerics.dtype != Dtype::Fp16)
        return sheet.fine("half-precision", fmt::format("{} has the range of fp32 and needs no loss scale",
                                                        name_of(plan.numerics.dtype)));
    if (!bf16) return sheet.fine("half-precision", fmt::format("{} has no bf16 units: fp16 with a loss scale", where));
    Finding finding{
        "fp16-where-bf16-is",
        Severity::Advice,
        "half-precision",
        "fp16 is used where bf16 is possible.",
        {fmt::format("fp16 ends at 65,504, and what goes beyond is lost with its step; bf16 has fp32's "
                     "range, and {} computes with it as fast.",
                     where)},
        {{{"numerics.dtype=bf16", "numerics.loss_scale=0"}, "no loss scale, no overflowing steps; as many bytes"}},
        "Kalamkar et al. 2019, A Study of BFLOAT16 for Deep Learning Training"};
    if (plan.numerics.reduce_dtype == ReduceDtype::Fp16)
        finding.changes[0].settings.push_back("numerics.reduce_dtype=gradient");
    sheet.found(std::move(finding));
}

void check_clipping(const Plan& plan, Sheet& sheet) {
    if (plan.optimizer.clip > 0)
        return sheet.fine("clipping", fmt::format("to a global norm of {:g}", plan.optimizer.clip));
    const bool guarded = plan.guard.detector != GuardDetector::Off && plan.guard.clip && plan.guard.every == 1;
    if (guarded) return sheet.fine("clipping", "optimizer.clip is off, and the guard clips what stands out");
    sheet.found({"no-clipping",
                 Severity::Advice,
                 "clipping",
                 "Gradients are not clipped.",
                 {"optimizer.clip is 0: one bad batch moves the weights as far as its gradient is long."},
                 {{{"optimizer.clip=1"}, "a norm of 1 bounds each update; GPT-3, LLaMA and OPT were trained so"}},
                 "Pascanu et al. 2013; Brown et al. 2020, appendix B"});
}

}  // namespace

void check_numbers(const Plan& plan, Sheet& sheet) {
    check_half_precision(plan, sheet);
    check_clipping(plan, sheet);
}

}  // namespace plimsoll::doctor
