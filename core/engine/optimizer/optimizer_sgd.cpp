// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/moment.h"
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

class SgdOptimizer final : public ShardedOptimizer {
public:
    SgdOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, std::unique_ptr<StateStore> store,
                 const WeightUpdates& updates)
        : ShardedOptimizer(std::move(parts), settings, nullptr, std::move(store), updates) {
        if (settings.momentum == 0) return;
        for (std::size_t i = 0; i < this->parts().size(); ++i) {
            buffers_.push_back(kept_moment(i, moment_format(settings)));
        }
    }

private:
    Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) override {
        ScaledGradient scaled(factor);
        for (std::size_t i = 0; i < parts().size(); ++i) {
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            const torch::Tensor gradient = gradients[i].reshape(-1);
            for_each_chunk(gradient.numel(), [&](std::int64_t begin, std::int64_t length) {
                torch::Tensor w = weights(i, begin, length);
                torch::Tensor g = scaled(gradient, begin, length, wide_options(i));
                if (weight_decay(i) != 0) g = g.add(w, weight_decay(i));
                if (!buffers_.empty()) {
                    // A first step from zeros equals torch's, which starts from the gradient.
                    torch::Tensor buffer = buffers_[i].load(begin, length);
                    g = buffer.mul_(settings().momentum).add_(g);
                    buffers_[i].store(begin, g);
                }
                w.add_(g, -rate(i, lr));
                set_weights(i, begin, w);
            });
        }
        return {};
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        if (!buffers_.empty()) add_moment("momentum_buffer", index, buffers_[index], states);
    }

    std::vector<Moment> buffers_;
};

}  // namespace

std::unique_ptr<ShardedOptimizer> make_sgd(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                           std::unique_ptr<StateStore> store, const WeightUpdates& updates) {
    return std::make_unique<SgdOptimizer>(std::move(parts), settings, std::move(store), updates);
}

}  // namespace plimsoll::engine
