// SPDX-License-Identifier: Apache-2.0
// A routed mixture of experts (Shazeer 2017; Mixtral, Jiang 2024) over expert-parallel ranks (GShard, Lepikhin 2020).
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <vector>

#include "core/engine/layers/layers.h"
#include "core/engine/layers/side_loss.h"

namespace plimsoll::engine {

/// One SwiGLU expert: w2(silu(w1 x) · w3 x). The sum over tensor-parallel ranks is left to the caller.
class Expert : public torch::nn::Module {
public:
    explicit Expert(const ModelContext& context);
    torch::Tensor forward(const torch::Tensor& x) const;

private:
    std::shared_ptr<Linear> w1_, w2_, w3_;
};

/// Each token goes through the experts_per_token experts with the largest router probabilities. The weights are the
/// softmax over the experts, normalized to 1 over the chosen experts. Ranks of an expert-parallel group hold equal
/// numbers of experts, in order; tokens travel to the experts and back by all-to-all.
///
/// Without a capacity factor no token is dropped. With one, an expert takes from each sequence at most
/// ceil(factor · time · chosen / experts) tokens, first come, first served; surplus tokens skip the experts and keep
/// their residual. `time` is that of the whole sequence, however many context-parallel ranks share it.
///
/// Two losses join the model's own while training; both are means over sequences, so that no layout changes them:
///     load balance   router_aux_loss · Σ_e f_e P_e, of each sequence f_e = experts / (chosen · time) · (tokens that
///                    chose e), P_e the mean probability of e (Fedus 2021, per sequence as DeepSeek-V3, eq. 17 to 20)
///     router z-loss  router_z_loss · mean over tokens of (log Σ exp logits)²   (Zoph 2022)
class MoeMlp : public ShardedModule {
public:
    explicit MoeMlp(const ModelContext& context);
    /// x [batch, time, hidden], or this rank's part of the time dimension. `side_loss_scale` is the incoming gradient of
    /// the router's losses; without it the losses are not computed, as outside training.
    WithSideLoss forward(const torch::Tensor& x, std::optional<double> side_loss_scale) const;

private:
    struct Routes;
    Routes route(const torch::Tensor& probabilities) const;
    struct RouterLoss {
        torch::Tensor loss;      ///< of this rank, for the gradient
        torch::Tensor reported;  ///< the values of a tensor-parallel group add up to the model's
    };
    RouterLoss router_loss(const torch::Tensor& logits, const torch::Tensor& probabilities,
                           const torch::Tensor& chosen) const;
    torch::Tensor through_experts(const torch::Tensor& tokens, const std::vector<std::int64_t>& per_expert) const;

    ModelContext context_;
    std::int64_t experts_, per_token_, first_expert_;
    torch::Tensor gate_;
    std::vector<std::shared_ptr<Expert>> own_;
};

}  // namespace plimsoll::engine
