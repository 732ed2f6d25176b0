// SPDX-License-Identifier: Apache-2.0
// The optimizers behind make_optimizer(), and what they share. g is the scaled and clipped gradient, w the weight in
// fp32 (its master, itself, or a pure weight widened), t the count of steps from 1; weight decay (wd) is 0 for biases and norms.
#pragma once

#include "core/engine/base/repeated_work.h"
#include "core/engine/optimizer/optimizer.h"

namespace plimsoll::engine {

/// AdamW (Loshchilov & Hutter 2019; fused kernel of LibTorch, fused_adamw.h):
///   w -= lr wd w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g²
///   w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
/// adamw-8bit keeps both moments in 8 bits (Dettmers et al. 2022): blocks of 256, dynamic-tree codes (dynamic_codes.h).
/// Parameters of fewer than 4096 numbers keep fp32 moments, as in bitsandbytes.
std::unique_ptr<ShardedOptimizer> make_adamw(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                             std::unique_ptr<StateStore> store, const WeightUpdates& updates);

/// LAMB (You et al. 2020) in the variant of NVIDIA apex, FusedLAMB and NVLAMB: bias-corrected, decay inside the ratio,
///   r = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps) + wd w;  w -= lr (|w| / |r|) r
/// with the norms of the whole parameter. The ratio is 1 where a norm is 0, and where wd is 0 unless always_adapt
/// (apex: use_nvlamb) is set. Gradients are not clipped here, as apex does: the training loop has done so.
std::unique_ptr<ShardedOptimizer> make_lamb(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                                            std::unique_ptr<StateStore> store, const WeightUpdates& updates);

/// SGD with momentum by the rule of torch.optim.SGD, whose weight decay is coupled (an L2 penalty):
///   g += wd w;  b = momentum b + g;  w -= lr b          (momentum 0: w -= lr g, without a state)
std::unique_ptr<ShardedOptimizer> make_sgd(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                           std::unique_ptr<StateStore> store, const WeightUpdates& updates);

/// Adafactor (Shazeer & Stern 2018) by the rule of torch.optim.Adafactor, with d = 1, beta2_decay = -0.8, eps1 = fp32's
/// epsilon, eps2 = 1e-3, and without a first moment. n, m: rows and columns of the whole parameter.
///   a = lr max(eps2, |w| / sqrt(n m));  w -= lr wd w;  s = t^-0.8
///   R = R + s (mean_columns(g²) - R);  C = C + s (mean_rows(g²) - C);  V = R C / max(mean(R), eps1)   (vectors: plain
///   V) u = g / sqrt(max(V, eps1²));  w -= a u / max(1, |u| / sqrt(n m))
/// torch.optim.Adafactor takes min(lr, 1 / sqrt(t)) for lr in `a`; here the learning rate is the schedule's. A
/// parameter of more than two dimensions is a matrix of dimension 0 by the rest.
std::unique_ptr<ShardedOptimizer> make_adafactor(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                                 PartSums* sums, std::unique_ptr<StateStore> store,
                                                 const WeightUpdates& updates);

/// Numbers updated at once: the scaled gradient of so many stays in cache, and the scratch space of each is 4 MiB.
constexpr std::int64_t optimizer_chunk = 1 << 20;

bool is_half(const torch::Tensor& tensor);

/// Calls visit(begin, length) for the chunks of `count` numbers.
template <class Visit>
void for_each_chunk(std::int64_t count, const Visit& visit) {
    for (std::int64_t begin = 0; begin < count; begin += optimizer_chunk) {
        // Between the second chunk and the last all are alike.
        if (begin == 2 * optimizer_chunk && LeaveOutRepeats::active())
            begin = (count - 1) / optimizer_chunk * optimizer_chunk;
        visit(begin, std::min(optimizer_chunk, count - begin));
    }
}

/// Gives g x factor of a piece of a flat gradient, in the dtype of the update, for reading: the piece itself where
/// nothing is to be changed, else numbers in a scratch space that the next call overwrites.
class ScaledGradient {
public:
    explicit ScaledGradient(double factor) : factor_(factor) {}
    torch::Tensor operator()(const torch::Tensor& gradient, std::int64_t begin, std::int64_t length,
                             const torch::TensorOptions& wide);

private:
    double factor_;
    torch::Tensor scratch_;
};

/// |x|² in fp64.
torch::Tensor squared_norm(const torch::Tensor& x);

}  // namespace plimsoll::engine
