// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/dynamic_codes.h"
#include "core/engine/optimizer/fused_adamw.h"
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

/// bitsandbytes' min_8bit_size: small parameters gain little and lose precision.
constexpr std::int64_t smallest_coded = 4096;

/// A moment of one part, in codes or in fp32.
class Moment {
public:
    Moment(const torch::Tensor& master, bool coded, bool with_sign) {
        if (coded) {
            codes_ = std::make_unique<DynamicCodes>(master.numel(), with_sign, master.device());
        } else {
            wide_ = at::zeros_like(master).view(-1);
        }
    }
    /// fp32 numbers that may be changed; store() must follow.
    torch::Tensor load(std::int64_t begin, std::int64_t length) const {
        return codes_ ? codes_->read(begin, length) : wide_.narrow(0, begin, length);
    }
    void store(std::int64_t begin, const torch::Tensor& numbers) const {
        if (codes_) codes_->write(begin, numbers);
    }
    std::vector<torch::Tensor> tensors() const { return codes_ ? codes_->tensors() : std::vector{wide_}; }
    torch::Tensor all(const torch::Tensor& master) const { return load(0, master.numel()).view(master.sizes()); }
    void set(const torch::Tensor& loaded) const {
        const torch::Tensor flat = loaded.reshape(-1);
        if (!codes_) wide_.copy_(flat);
        for_each_chunk(flat.numel(), [&](std::int64_t begin, std::int64_t length) {
            if (codes_) codes_->write(begin, flat.narrow(0, begin, length));
        });
    }

private:
    std::unique_ptr<DynamicCodes> codes_;
    torch::Tensor wide_;
};

class AdamW8bitOptimizer final : public ShardedOptimizer {
public:
    AdamW8bitOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, std::unique_ptr<StateStore> store)
        : ShardedOptimizer(std::move(parts), settings, nullptr, std::move(store)) {
        for (std::size_t i = 0; i < this->parts().size(); ++i) {
            const OptimizedPart& part = this->parts()[i];
            // Decided by the whole parameter, so that the result does not depend on the split.
            const bool coded = part.rows * part.columns >= smallest_coded;
            exp_avg_.emplace_back(master(i), coded, /*with_sign=*/true);
            exp_avg_sq_.emplace_back(master(i), coded, /*with_sign=*/false);
            for (const Moment* moment : {&exp_avg_.back(), &exp_avg_sq_.back()}) {
                for (const torch::Tensor& tensor : moment->tensors()) keep(i, tensor);
            }
        }
    }

private:
    Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) override {
        ScaledGradient scaled(factor);
        for (std::size_t i = 0; i < parts().size(); ++i) {
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            const torch::Tensor gradient = gradients[i].reshape(-1), w = master(i).view(-1);
            const torch::Tensor step = at::scalar_tensor(steps(), w.options().dtype(torch::kFloat));
            for_each_chunk(w.numel(), [&](std::int64_t begin, std::int64_t length) {
                const torch::Tensor m = exp_avg_[i].load(begin, length), v = exp_avg_sq_[i].load(begin, length);
                fused_adamw({w.narrow(0, begin, length), scaled(gradient, begin, length, w), m, v}, step, settings(),
                            rate(i, lr), weight_decay(i));
                exp_avg_[i].store(begin, m);
                exp_avg_sq_[i].store(begin, v);
                cast_back(i, begin, length);
            });
        }
        return {};
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        states.push_back({"exp_avg/" + parts()[index].name, exp_avg_[index].all(master(index)), index});
        states.push_back({"exp_avg_sq/" + parts()[index].name, exp_avg_sq_[index].all(master(index)), index});
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

std::unique_ptr<ShardedOptimizer> make_adamw_8bit(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                                  std::unique_ptr<StateStore> store) {
    return std::make_unique<AdamW8bitOptimizer>(std::move(parts), settings, std::move(store));
}

}  // namespace plimsoll::engine
