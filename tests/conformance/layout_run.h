// SPDX-License-Identifier: Apache-2.0
// A few training steps of a small model under any layout: its ranks are threads of this program in real Gloo groups.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/engine/parallel/distributed_model.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct LayoutRun {
    std::vector<double> losses;         ///< mean over the global batch, a step
    std::vector<double> grad_norms;     ///< before clipping
    std::vector<double> z_losses;       ///< mean over the global batch, a step
    std::vector<double> router_losses;  ///< likewise
    /// Squared norms of the gradients of a part of the batch and of all of it, of steps that are measured.
    std::vector<std::pair<NormSample, NormSample>> noise;
    std::map<std::string, torch::Tensor> gradients;  ///< whole, of the first step
    std::map<std::string, torch::Tensor> weights;    ///< whole, after the last
    std::map<std::string, torch::Tensor> optimizer;  ///< whole, after the last
    std::size_t overlapped_buckets = 0;              ///< of the last step, on the first rank
    double validation_loss = 0;                      ///< of one fixed batch, after the last
    torch::Tensor next_logits;                       ///< behind seven fixed tokens, after the last
    bool tied_alike = true;  ///< every copy of a tied weight has the bits of the embedding, after the last
    std::string failure;
};

/// A model of the preset's architecture cut down to 4 layers of width 32, sequences of 16 tokens, a global batch of 8,
/// in a layout such as "tp=2 sp pp=2 schedule=zb-h1 zero=1" (keys of the layout; with a dot, of the plan).
Plan conformance_plan(const std::string& preset, const std::string& layout);

/// Trains `steps` steps. Data depend on the global batch alone, not on the layout. With `start` from those weights.
LayoutRun run_layout(const Plan& plan, int steps, const NamedTensors* start = nullptr);

/// run_layout() of conformance_plan(); a failure fails the test.
LayoutRun run_preset(const std::string& preset, const std::string& layout, int steps);
/// Losses, first gradients and weights of `run` are those of `one` but for rounding.
void expect_same_training(const LayoutRun& run, const LayoutRun& one, const std::string& what);

/// What the ranks say when the plan of one of them is changed, or when one does nothing for longer than the time-out of
/// the others.
std::string run_with_odd_rank(const Plan& plan, int odd, const std::function<void(Plan&)>& change);
std::string run_with_silent_rank(const Plan& plan, int silent, Seconds timeout);

/// The same plan on one rank: dp, tp, pp, cp and ep 1, no ZeRO, as many more micro-batches.
Plan on_one_rank(const Plan& plan);

/// Largest difference in one tensor, relative to its largest number; numbers below 1 % of the largest of all tensors
/// count as that.
double largest_relative_difference(const std::map<std::string, torch::Tensor>& a,
                                   const std::map<std::string, torch::Tensor>& b, std::string* where = nullptr);
double largest_difference(const std::map<std::string, torch::Tensor>& a, const std::map<std::string, torch::Tensor>& b);

}  // namespace plimsoll::engine
