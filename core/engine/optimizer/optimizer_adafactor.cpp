// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "core/engine/memory/host_values.h"
#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

namespace {

constexpr double beta2_decay = -0.8;
constexpr double eps1 = std::numeric_limits<float>::epsilon();
constexpr double eps2 = 1e-3;

using Sums = std::vector<std::pair<std::size_t, torch::Tensor>>;

/// Variances are small and stay in memory; only masters go to a store.
class AdafactorOptimizer final : public ShardedOptimizer {
public:
    AdafactorOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                       std::unique_ptr<StateStore> store, const WeightUpdates& updates)
        : ShardedOptimizer(std::move(parts), settings, sums, std::move(store), updates), slots_(this->parts().size()) {
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            const torch::Tensor& w = this->parts()[i].parameter;
            Slot& slot = slots_[i];
            slot.rows = w.size(0);
            slot.columns = c10::multiply_integers(w.sizes().slice(1));
            slot.factored = w.dim() >= 2;
            slot.variance =
                at::zeros({slot.rows}, wide_options(i));  // one for each row, where the variance is factored
            if (slot.factored) slot.column_variance = at::zeros({slot.columns}, wide_options(i));
        }
    }

private:
    struct Slot {
        bool factored = false;
        std::int64_t rows = 0, columns = 0;  ///< of this part
        torch::Tensor variance, column_variance;
        double mean_variance = 1;  ///< of all rows of the parameter
    };

    /// All ranks sum the same lists, including parts without a gradient.
    Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) override {
        ScaledGradient scaled(factor);
        if (auto done = update_variances(gradients, scaled); !done) return done;

        Sums norms;  // [|w|², |u|²]
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            torch::Tensor squares = at::zeros({2}, wide_options(i).dtype(torch::kDouble));
            norms.emplace_back(i, squares);
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            for_each_stretch(i, [&](std::int64_t begin, std::int64_t length) {
                squares[0] += squared_norm(weights(i, begin, length));
            });
            for_each_rows(i, [&](std::int64_t begin, std::int64_t count) {
                squares[1] += squared_norm(direction(i, gradients[i], begin, count, scaled));
            });
        }
        if (auto summed = sum(PartSums::Over::Parts, norms); !summed) return summed;

        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (!gradients[i].defined()) continue;
            PLIMSOLL_TRY(const auto held, hold(i));
            const torch::Tensor host = host_values(norms[i].second);
            const double numbers = static_cast<double>(parts()[i].rows) * static_cast<double>(parts()[i].columns);
            const double w_rms = std::sqrt(host[0].item<double>() / numbers);
            const double u_rms = std::sqrt(host[1].item<double>() / numbers);
            const double step = rate(i, lr) * std::max(eps2, w_rms) / std::max(1.0, u_rms);
            for_each_rows(i, [&](std::int64_t begin, std::int64_t count) {
                const std::int64_t width = slots_[i].columns;
                torch::Tensor w = weights(i, begin * width, count * width);
                if (weight_decay(i) != 0) w.mul_(1 - rate(i, lr) * weight_decay(i));
                w.view({count, width}).add_(direction(i, gradients[i], begin, count, scaled), -step);
                set_weights(i, begin * width, w);
            });
        }
        return {};
    }

    Result<void> update_variances(const std::vector<torch::Tensor>& gradients, ScaledGradient& scaled) {
        const double share = std::pow(static_cast<double>(steps()), beta2_decay);
        Sums row_sums, column_sums, variance_sums;
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            const Slot& slot = slots_[i];
            torch::Tensor of_rows = at::zeros_like(slot.variance), of_columns;
            if (slot.factored) {
                of_columns = at::zeros_like(slot.column_variance);
                row_sums.emplace_back(i, of_rows);
                column_sums.emplace_back(i, of_columns);
            }
            if (!gradients[i].defined()) continue;
            for_each_rows(i, [&](std::int64_t begin, std::int64_t count) {
                const torch::Tensor squares = piece(i, gradients[i], begin, count, scaled).square();
                of_rows.narrow(0, begin, count).copy_(squares.sum(1));
                if (slot.factored) of_columns += squares.sum(0);
            });
            if (!slot.factored) slots_[i].variance.lerp_(of_rows, share);
        }
        if (auto summed = sum(PartSums::Over::Columns, row_sums); !summed) return summed;
        if (auto summed = sum(PartSums::Over::Rows, column_sums); !summed) return summed;

        for (std::size_t k = 0; k < row_sums.size(); ++k) {
            const auto& [i, of_rows] = row_sums[k];
            const Slot& slot = slots_[i];
            if (gradients[i].defined()) {
                slot.variance.lerp_(of_rows / parts()[i].columns, share);
                slot.column_variance.lerp_(column_sums[k].second / parts()[i].rows, share);
            }
            variance_sums.emplace_back(i, slot.variance.sum(torch::kDouble));
        }
        if (auto summed = sum(PartSums::Over::Rows, variance_sums); !summed) return summed;
        for (const auto& [i, total] : variance_sums) {
            slots_[i].mean_variance = host_values(total).item<double>() / static_cast<double>(parts()[i].rows);
        }
        return {};
    }

    /// Rows of the scaled gradient.
    torch::Tensor piece(std::size_t i, const torch::Tensor& gradient, std::int64_t begin, std::int64_t count,
                        ScaledGradient& scaled) const {
        const std::int64_t width = slots_[i].columns;
        return scaled(gradient.reshape(-1), begin * width, count * width, wide_options(i)).view({count, width});
    }

    /// u, before it is clipped.
    torch::Tensor direction(std::size_t i, const torch::Tensor& gradient, std::int64_t begin, std::int64_t count,
                            ScaledGradient& scaled) const {
        const Slot& slot = slots_[i];
        torch::Tensor estimate = slot.variance.narrow(0, begin, count).unsqueeze(1);
        estimate = slot.factored ? (estimate * slot.column_variance).div_(std::max(slot.mean_variance, eps1))
                                 : estimate.clone();
        return estimate.clamp_min_(eps1 * eps1).rsqrt_().mul_(piece(i, gradient, begin, count, scaled));
    }

    /// All numbers of the weight at once where they lie in fp32, else a chunk at a time.
    template <class Visit>
    void for_each_stretch(std::size_t i, const Visit& visit) const {
        const std::int64_t count = parts()[i].parameter.numel();
        if (is_pure(i)) return for_each_chunk(count, visit);
        visit(std::int64_t{0}, count);
    }

    template <class Visit>
    void for_each_rows(std::size_t i, const Visit& visit) const {
        const std::int64_t at_once =
            std::max<std::int64_t>(1, optimizer_chunk / std::max<std::int64_t>(1, slots_[i].columns));
        for (std::int64_t begin = 0; begin < slots_[i].rows; begin += at_once) {
            visit(begin, std::min(at_once, slots_[i].rows - begin));
        }
    }

    void add_states(std::size_t index, std::vector<OptimizerState>& states) const override {
        const Slot& slot = slots_[index];
        const std::string& name = parts()[index].name;
        if (!slot.factored) {
            states.push_back({"variance/" + name, slot.variance, index});
            return;
        }
        states.push_back({"row_var/" + name, slot.variance, index, StateShape::Rows});
        states.push_back({"col_var/" + name, slot.column_variance, index, StateShape::Columns});
    }

    std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<ShardedOptimizer> make_adafactor(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                                 PartSums* sums, std::unique_ptr<StateStore> store,
                                                 const WeightUpdates& updates) {
    return std::make_unique<AdafactorOptimizer>(std::move(parts), settings, sums, std::move(store), updates);
}

}  // namespace plimsoll::engine
