// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/fused_adamw.h"
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

class AdamWOptimizer final : public ShardedOptimizer {
public:
    AdamWOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, std::unique_ptr<StateStore> store)
        : ShardedOptimizer(std::move(parts), settings, nullptr, std::move(store)) {
        for (std::size_t i = 0; i < this->parts().size(); ++i) {
            exp_avg_.push_back(keep(i, at::zeros_like(master(i))));
            exp_avg_sq_.push_back(keep(i, at::zeros_like(master(i))));
        }
    }

private:
    Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) override {
        ScaledGradient scaled(factor);
        for (std::size_t i = 0; i < parts().size(); ++i) {
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            const torch::Tensor gradient = gradients[i].reshape(-1), w = master(i).view(-1);
            const torch::Tensor m = exp_avg_[i].view(-1), v = exp_avg_sq_[i].view(-1);
            const torch::Tensor step = at::scalar_tensor(steps(), w.options().dtype(torch::kFloat));
            for_each_chunk(w.numel(), [&](std::int64_t begin, std::int64_t length) {
                const auto piece = [&](const torch::Tensor& flat) { return flat.narrow(0, begin, length); };
                fused_adamw({piece(w), scaled(gradient, begin, length, w), piece(m), piece(v)}, step, settings(),
                            rate(i, lr), weight_decay(i));
                cast_back(i, begin, length);
            });
        }
        return {};
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        states.push_back({"exp_avg/" + parts()[index].name, exp_avg_[index], index});
        states.push_back({"exp_avg_sq/" + parts()[index].name, exp_avg_sq_[index], index});
    }

    std::vector<torch::Tensor> exp_avg_, exp_avg_sq_;
};

}  // namespace

std::unique_ptr<ShardedOptimizer> make_adamw(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                             std::unique_ptr<StateStore> store) {
    return std::make_unique<AdamWOptimizer>(std::move(parts), settings, std::move(store));
}

}  // namespace plimsoll::engine
