// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/precision_advice.h"

#include <QCoreApplication>

#include "core/plan/gpu.h"

namespace plimsoll::ui {

namespace {

struct Advice {
    Q_DECLARE_TR_FUNCTIONS(PrecisionAdvice)
};

bool hasBf16(const Cluster& cluster) {
    if (cluster.on_cpu()) return true;
    const auto gpu = find_gpu(cluster.gpu);
    return gpu && gpu->bf16_tflops > 0;
}

}  // namespace

QString precisionAdvice(const Plan& plan) {
    if (plan.numerics.weights == WeightCopies::Pure && plan.numerics.rounding == Rounding::Nearest)
        return Advice::tr("small updates are lost: round stochastically, or keep Kahan sums");
    if (plan.numerics.dtype == Dtype::Bf16) return Advice::tr("bf16 needs no loss scaling");
    if (plan.numerics.dtype == Dtype::Fp16 && hasBf16(plan.cluster))
        return Advice::tr("bf16 is safer here: as fast, and never overflows at fp16's 65,504");
    return {};
}

}  // namespace plimsoll::ui
