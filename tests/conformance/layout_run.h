// SPDX-License-Identifier: Apache-2.0
// A few training steps of a small model under any layout: its ranks are threads of this program in real Gloo groups.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/engine/distributed_model.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct LayoutRun {
    std::vector<double> losses;                      ///< mean over the global batch, a step
    std::vector<double> grad_norms;                  ///< before clipping
    std::map<std::string, torch::Tensor> gradients;  ///< whole, of the first step
    std::map<std::string, torch::Tensor> weights;    ///< whole, after the last
    std::map<std::string, torch::Tensor> optimizer;  ///< whole, after the last
    double validation_loss = 0;                      ///< of one fixed batch, after the last
    torch::Tensor next_logits;                       ///< behind seven fixed tokens, after the last
    std::string failure;
};

/// A model of the preset's architecture cut down to 4 layers of width 32, sequences of 16 tokens, a global batch of 8,
/// with `settings` applied.
Plan conformance_plan(const std::string& preset, const std::vector<std::string>& settings);

/// Trains `steps` steps. Data depend on the global batch alone, not on the layout. With `start` from those weights.
LayoutRun run_layout(const Plan& plan, int steps, const NamedTensors* start = nullptr);

/// The same plan on one rank: dp, tp, pp, cp and ep 1, no ZeRO, as many more micro-batches.
Plan on_one_rank(const Plan& plan);

/// Largest difference in one tensor, relative to its largest number; numbers below 1 % of the largest of all tensors
/// count as that.
double largest_relative_difference(const std::map<std::string, torch::Tensor>& a,
                                   const std::map<std::string, torch::Tensor>& b, std::string* where = nullptr);
double largest_difference(const std::map<std::string, torch::Tensor>& a, const std::map<std::string, torch::Tensor>& b);

}  // namespace plimsoll::engine
