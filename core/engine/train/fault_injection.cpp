// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/fault_injection.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "core/allocator/memory_trace.h"

namespace plimsoll::engine {

namespace {

/// As a rank that others have slowed down: it gets a tenth of a processor.
void work_slowly(double milliseconds) {
    using Clock = std::chrono::steady_clock;
    constexpr auto work = std::chrono::milliseconds(1), pause = std::chrono::milliseconds(9);
    const auto end = Clock::now() + std::chrono::duration<double, std::milli>(milliseconds);
    while (Clock::now() < end) {
        for (const auto begin = Clock::now(); Clock::now() - begin < work;) {
        }
        std::this_thread::sleep_until(
            std::min<std::chrono::time_point<Clock, std::chrono::duration<double, std::nano>>>(Clock::now() + pause,
                                                                                               end));
    }
}

torch::Tensor with_first(const torch::Tensor& x, double value) {
    torch::Tensor spoiled = x.clone(at::MemoryFormat::Contiguous);
    spoiled.view(-1).narrow(0, 0, 1).fill_(value);
    return spoiled;
}

}  // namespace

FaultInjection::FaultInjection(const std::vector<Fault>& faults, const Plan& plan, const Mesh& mesh)
    : plan_(plan), mesh_(mesh) {
    for (const Fault& fault : faults) places_.emplace_back(fault);
}

void FaultInjection::begin_step(std::int64_t number, std::uint64_t samples) {
    now_.clear();
    const auto global_batch = static_cast<std::uint64_t>(plan_.layout.global_batch());
    for (FaultPlace& place : places_) {
        if (place.meets(number, samples, global_batch)) now_.push_back(place.fault());
    }
    for (const Fault& fault : now_) {
        if (fault.rank != mesh_.world().rank()) continue;
        if (fault.kind == FaultKind::SlowRank) work_slowly(fault.milliseconds);
        // More than any machine has, so that it is the allocator itself that refuses.
        if (fault.kind == FaultKind::Oom) static_cast<void>(at::empty({std::int64_t{1} << 50}, at::kByte));
    }
}

torch::Tensor FaultInjection::spoil(std::int32_t layer, const torch::Tensor& output) const {
    torch::Tensor spoiled = output;
    for (const Fault& fault : now_) {
        if (fault.kind != FaultKind::Nan && fault.kind != FaultKind::Inf) continue;
        const bool here = fault.layer < 0 ? layer == embedding_layer : layer == fault.layer;
        // One data-parallel rank is enough: the sums bring it to all.
        if (!here || mesh_.position().dp != 0 || mesh_.position().cp != 0) continue;
        const double value = fault.kind == FaultKind::Nan ? std::numeric_limits<double>::quiet_NaN()
                                                          : std::numeric_limits<double>::infinity();
        if (!fault.backward) {
            spoiled = with_first(spoiled, value);
        } else if (spoiled.requires_grad()) {
            spoiled = spoiled.clone();
            spoiled.register_hook([value](const torch::Tensor& gradient) { return with_first(gradient, value); });
        }
    }
    return spoiled;
}

double FaultInjection::loss_factor() const {
    constexpr double beyond_fp16 = 1e30;
    double factor = 1;
    for (const Fault& fault : now_) {
        if (fault.kind == FaultKind::Spike) factor *= fault.factor;
        if (fault.kind == FaultKind::Overflow) factor *= beyond_fp16;
    }
    return factor;
}

}  // namespace plimsoll::engine
