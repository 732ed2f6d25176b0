// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

class SgdOptimizer final : public ShardedOptimizer {
public:
    SgdOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, std::unique_ptr<StateStore> store)
        : ShardedOptimizer(std::move(parts), settings, nullptr, std::move(store)) {
        if (settings.momentum == 0) return;
        for (std::size_t i = 0; i < this->parts().size(); ++i) buffers_.push_back(keep(i, at::zeros_like(master(i))));
    }

private:
    Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) override {
        ScaledGradient scaled(factor);
        for (std::size_t i = 0; i < parts().size(); ++i) {
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            const torch::Tensor gradient = gradients[i].reshape(-1), w = master(i).view(-1);
            for_each_chunk(w.numel(), [&](std::int64_t begin, std::int64_t length) {
                torch::Tensor weights = w.narrow(0, begin, length);
                torch::Tensor g = scaled(gradient, begin, length, w);
                if (weight_decay(i) != 0) g = g.add(weights, weight_decay(i));
                if (!buffers_.empty()) {
                    // A first step from zeros equals torch's, which starts from the gradient.
                    torch::Tensor buffer = buffers_[i].view(-1).narrow(0, begin, length);
                    g = buffer.mul_(settings().momentum).add_(g);
                }
                weights.add_(g, -rate(i, lr));
                cast_back(i, begin, length);
            });
        }
        return {};
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        if (buffers_.empty()) return;
        states.push_back({"momentum_buffer/" + parts()[index].name, buffers_[index], index});
    }

    std::vector<torch::Tensor> buffers_;
};

}  // namespace

std::unique_ptr<ShardedOptimizer> make_sgd(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                           std::unique_ptr<StateStore> store) {
    return std::make_unique<SgdOptimizer>(std::move(parts), settings, std::move(store));
}

}  // namespace plimsoll::engine
