// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/fused_adamw.h"
#include "core/engine/optimizer/moment.h"
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

/// bitsandbytes' min_8bit_size: small parameters gain little and lose precision.
constexpr std::int64_t smallest_coded = 4096;

class AdamWOptimizer final : public ShardedOptimizer {
public:
    AdamWOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, std::unique_ptr<StateStore> store,
                   const WeightUpdates& updates)
        : ShardedOptimizer(std::move(parts), settings, nullptr, std::move(store), updates) {
        for (std::size_t i = 0; i < this->parts().size(); ++i) {
            exp_avg_.push_back(kept_moment(i, format_of(i, MomentFormat::Signed)));
            exp_avg_sq_.push_back(kept_moment(i, format_of(i, MomentFormat::Unsigned)));
        }
    }

private:
    MomentFormat format_of(std::size_t i, MomentFormat coded) const {
        if (settings().kind != OptimizerKind::AdamW8bit) return moment_format(settings());
        // Decided by the whole parameter, so that the result does not depend on the split.
        const OptimizedPart& part = parts()[i];
        return part.rows * part.columns >= smallest_coded ? coded : MomentFormat::Wide;
    }

    Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) override {
        ScaledGradient scaled(factor);
        for (std::size_t i = 0; i < parts().size(); ++i) {
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            const torch::Tensor gradient = gradients[i].reshape(-1);
            const torch::Tensor step = at::scalar_tensor(steps(), wide_options(i).dtype(torch::kFloat));
            for_each_chunk(gradient.numel(), [&](std::int64_t begin, std::int64_t length) {
                torch::Tensor w = weights(i, begin, length);
                const torch::Tensor m = exp_avg_[i].load(begin, length), v = exp_avg_sq_[i].load(begin, length);
                fused_adamw({w, scaled(gradient, begin, length, wide_options(i)), m, v}, step, settings(), rate(i, lr),
                            weight_decay(i));
                exp_avg_[i].store(begin, m);
                exp_avg_sq_[i].store(begin, v);
                set_weights(i, begin, w);
            });
        }
        return {};
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        add_moment("exp_avg", index, exp_avg_[index], states);
        add_moment("exp_avg_sq", index, exp_avg_sq_[index], states);
    }

    void restore(const OptimizerState& own, const torch::Tensor& loaded) override {
        if (own.name.starts_with("exp_avg/")) {
            exp_avg_[own.part].set(loaded);
        } else if (own.name.starts_with("exp_avg_sq/")) {
            exp_avg_sq_[own.part].set(loaded);
        } else {
            ShardedOptimizer::restore(own, loaded);
        }
    }

    std::vector<Moment> exp_avg_, exp_avg_sq_;
};

}  // namespace

std::unique_ptr<ShardedOptimizer> make_adamw(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                             std::unique_ptr<StateStore> store, const WeightUpdates& updates) {
    return std::make_unique<AdamWOptimizer>(std::move(parts), settings, std::move(store), updates);
}

}  // namespace plimsoll::engine
