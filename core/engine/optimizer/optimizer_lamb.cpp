// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/host_values.h"
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

class LambOptimizer final : public ShardedOptimizer {
public:
    LambOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                  std::unique_ptr<StateStore> store)
        : ShardedOptimizer(std::move(parts), settings, sums, std::move(store)) {
        for (std::size_t i = 0; i < this->parts().size(); ++i) {
            exp_avg_.push_back(keep(i, at::zeros_like(master(i))));
            exp_avg_sq_.push_back(keep(i, at::zeros_like(master(i))));
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
                squares = at::zeros({2}, master(i).options().dtype(torch::kDouble));
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
            torch::Tensor w = master(i).view(-1);
            for_each_chunk(w.numel(), [&](std::int64_t begin, std::int64_t length) {
                w.narrow(0, begin, length).add_(direction(i, begin, length), -rate(i, lr) * ratios[i]);
                cast_back(i, begin, length);
            });
        }
        return {};
    }

    bool adapts(std::size_t i) const { return settings().always_adapt || weight_decay(i) != 0; }

    void take_gradient(std::size_t i, const torch::Tensor& gradient, ScaledGradient& scaled, torch::Tensor& squares) {
        const torch::Tensor w = master(i).view(-1);
        for_each_chunk(w.numel(), [&](std::int64_t begin, std::int64_t length) {
            const torch::Tensor g = scaled(gradient, begin, length, w);
            exp_avg_[i].view(-1).narrow(0, begin, length).mul_(settings().beta1).add_(g, 1 - settings().beta1);
            exp_avg_sq_[i]
                .view(-1)
                .narrow(0, begin, length)
                .mul_(settings().beta2)
                .addcmul_(g, g, 1 - settings().beta2);
            if (!squares.defined()) return;
            squares[0] += squared_norm(w.narrow(0, begin, length));
            squares[1] += squared_norm(direction(i, begin, length));
        });
    }

    /// r, before the ratio.
    torch::Tensor direction(std::size_t i, std::int64_t begin, std::int64_t length) const {
        const auto t = static_cast<double>(steps());
        const double first = 1 - std::pow(settings().beta1, t), second = 1 - std::pow(settings().beta2, t);
        const torch::Tensor v = exp_avg_sq_[i].view(-1).narrow(0, begin, length);
        torch::Tensor root = at::sqrt(v).mul_(1 / std::sqrt(second)).add_(settings().eps);
        torch::Tensor r = exp_avg_[i].view(-1).narrow(0, begin, length).div(root.mul_(first));
        if (weight_decay(i) != 0) r.add_(master(i).view(-1).narrow(0, begin, length), weight_decay(i));
        return r;
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        states.push_back({"exp_avg/" + parts()[index].name, exp_avg_[index], index});
        states.push_back({"exp_avg_sq/" + parts()[index].name, exp_avg_sq_[index], index});
    }

    std::vector<torch::Tensor> exp_avg_, exp_avg_sq_;
};

}  // namespace

std::unique_ptr<ShardedOptimizer> make_lamb(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                                            std::unique_ptr<StateStore> store) {
    return std::make_unique<LambOptimizer>(std::move(parts), settings, sums, std::move(store));
}

}  // namespace plimsoll::engine
