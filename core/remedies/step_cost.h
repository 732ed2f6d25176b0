// SPDX-License-Identifier: Apache-2.0
// What a step costs in time, part by part, closely enough to say what a change of the plan costs: rates of the
// datasheet, nothing overlapped, so that a difference is an upper bound.
#pragma once

#include <array>
#include <string_view>

#include "core/base/units.h"
#include "core/estimate/estimate.h"
#include "core/plan/plan.h"

namespace plimsoll {

enum class StepPart {
    Matmuls,
    Recompute,
    Attention,
    Weights,
    Bubble,
    Data,
    Tensor,
    Pipeline,
    Context,
    Experts,
    Host,
    Update
};
inline constexpr std::array<std::string_view, 12> step_part_names{
    "matrix products",        "computing again",     "score matrices",        "reading weights",
    "pipeline bubble",        "data-parallel links", "tensor-parallel links", "pipeline links",
    "context-parallel links", "expert links",        "transfers to the host", "optimizer update"};

struct StepCost {
    std::array<Seconds, step_part_names.size()> parts{};

    Seconds& of(StepPart part) { return parts[static_cast<std::size_t>(part)]; }
    Seconds of(StepPart part) const { return parts[static_cast<std::size_t>(part)]; }
    Seconds total() const;
};

/// Rates of one rank.
struct StepRates {
    double flops = 0;           ///< FLOP/s, half of the datasheet's dense peak
    double memory = 0;          ///< B/s of the card's memory
    double node_link = 0;       ///< B/s out of a card to another of its node, one direction
    double internode_link = 0;  ///< B/s out of a card to another node
    double host_link = 0;       ///< B/s to host memory, one direction
};
/// Matrix products run at half of the datasheet's dense peak (Megatron-LM, Narayanan 2021, table 1: 44 to 52 % of it);
/// NVLink at half of the figure for both directions, without it PCIe x16 of the card's generation, which is also the
/// way to the host. On the CPU rough figures of one core: only what is relative to the matrix products means anything.
StepRates step_rates(const Plan& plan);

/// One step of the mean rank. Per micro-batch: 6 FLOPs a parameter and token and the attention core's (layer_flops),
/// the forward again where layers recompute, the weights read three times (roofline, Williams 2009), eager attention's
/// score matrix passed over ten times (standard attention of Dao 2022, algorithm 0 and its backward). Links: ring
/// collectives; ZeRO 0 and 1 move twice the parameters a step, ZeRO-2 the gradients of each micro-batch and the
/// parameters once, ZeRO-3 three times the parameters a micro-batch (Rajbhandari 2020, section 7: 1x, 1x, 1.5x with one
/// micro-batch); tensor parallelism four all-reduces a layer (Shoeybi 2019), as many bytes with sequence parallelism
/// (Korthikanti 2022). Host: PCIe, and 0.25 s a node for 10^9 parameters' Adam on the CPU (ZeRO-Offload, Ren 2021,
/// table 4). The bubble is its closed form's, after the
/// slowest rank, for which all wait. The plan must be possible, `estimate` its own.
StepCost step_cost(const Plan& plan, const MemoryEstimate& estimate);

}  // namespace plimsoll
