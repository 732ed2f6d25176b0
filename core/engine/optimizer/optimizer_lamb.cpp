// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/host_values.h"
#include "core/engine/optimizer/moment.h"
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

class LambOptimizer final : public ShardedOptimizer {
public:
    LambOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                  std::unique_ptr<StateStore> store, const WeightUpdates& updates)
        : ShardedOptimizer(std::move(parts), settings, sums, std::move(store), updates) {
        for (std::size_t i = 0; i < this->parts().size(); ++i) {
            exp_avg_.push_back(kept_moment(i, moment_format(settings)));
            exp_avg_sq_.push_back(kept_moment(i, moment_format(settings)));
        }
    }

private:
    /// Two passes: the ratio needs the norm of all of r, and computing r twice takes less memory than keeping it.
    Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) override {
        ScaledGradient scaled(factor);
        // [|w|², |r|²] of each part that adapts, also without a gradient, so that all ranks sum the same list.
        std::vector<std::pair<std::size_t, torch::Tensor>> norms;
        for (std::size_t i = 0; i < parts().size(); ++i) {
            torch::Tensor squares;
            if (adapts(i)) {
                squares = at::zeros({2}, wide_options(i).dtype(torch::kDouble));
                norms.emplace_back(i, squares);
            }
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            take_gradient(i, gradients[i].reshape(-1), scaled, squares);
        }
        if (auto summed = sum(PartSums::Over::Parts, norms); !summed) return summed;

        std::vector<double> ratios(parts().size(), 1);
        for (const auto& [i, squares] : norms) {
            const torch::Tensor host = host_values(squares);
            const double w = std::sqrt(host[0].item<double>()), r = std::sqrt(host[1].item<double>());
            if (w != 0 && r != 0) ratios[i] = w / r;
        }
        for (std::size_t i = 0; i < parts().size(); ++i) {
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            for_each_chunk(gradients[i].numel(), [&](std::int64_t begin, std::int64_t length) {
                torch::Tensor w = weights(i, begin, length);
                w.add_(direction(i, w, begin), -rate(i, lr) * ratios[i]);
                set_weights(i, begin, w);
            });
        }
        return {};
    }

    bool adapts(std::size_t i) const { return settings().always_adapt || weight_decay(i) != 0; }

    void take_gradient(std::size_t i, const torch::Tensor& gradient, ScaledGradient& scaled, torch::Tensor& squares) {
        for_each_chunk(gradient.numel(), [&](std::int64_t begin, std::int64_t length) {
            const torch::Tensor g = scaled(gradient, begin, length, wide_options(i));
            torch::Tensor m = exp_avg_[i].load(begin, length), v = exp_avg_sq_[i].load(begin, length);
            exp_avg_[i].store(begin, m.mul_(settings().beta1).add_(g, 1 - settings().beta1));
            exp_avg_sq_[i].store(begin, v.mul_(settings().beta2).addcmul_(g, g, 1 - settings().beta2));
            if (!squares.defined()) return;
            const torch::Tensor w = weights(i, begin, length);
            squares[0] += squared_norm(w);
            squares[1] += squared_norm(direction(i, w, begin));
        });
    }

    /// r of the weights w from `begin` on, before the ratio.
    torch::Tensor direction(std::size_t i, const torch::Tensor& w, std::int64_t begin) const {
        const auto t = static_cast<double>(steps());
        const double first = 1 - std::pow(settings().beta1, t), second = 1 - std::pow(settings().beta2, t);
        const torch::Tensor v = exp_avg_sq_[i].load(begin, w.numel());
        torch::Tensor root = at::sqrt(v).mul_(1 / std::sqrt(second)).add_(settings().eps);
        torch::Tensor r = exp_avg_[i].load(begin, w.numel()).div(root.mul_(first));
        if (weight_decay(i) != 0) r.add_(w, weight_decay(i));
        return r;
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        add_moment("exp_avg", index, exp_avg_[index], states);
        add_moment("exp_avg_sq", index, exp_avg_sq_[index], states);
    }

    std::vector<Moment> exp_avg_, exp_avg_sq_;
};

}  // namespace

std::unique_ptr<ShardedOptimizer> make_lamb(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                                            std::unique_ptr<StateStore> store, const WeightUpdates& updates) {
    return std::make_unique<LambOptimizer>(std::move(parts), settings, sums, std::move(store), updates);
}

}  // namespace plimsoll::engine
