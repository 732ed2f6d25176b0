// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/gradient_sizes.h"

#include <cmath>

#include "core/engine/memory/host_values.h"
#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

using torch::Tensor;

namespace {

constexpr const char* average_prefix = "adagc/";

/// Sums of fp64 that are taken in another order, as with other buckets, differ behind the digits of fp32 alone.
double in_fp32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// The matrices whose gradients are whole on this rank, experts apart: nearly all parameters of a model.
bool counts_for_noise(const RankParameter& parameter) {
    return parameter.shard.whole.size() >= 2 && !parameter.expert && !parameter.copy &&
           parameter.shard.gradient == Shard::Gradient::Whole;
}

}  // namespace

Result<GradientNorms> GradientSizes::norms(double inv_scale) const {
    const torch::NoGradGuard no_grad;
    const MemoryScope scope(MemoryCategory::Buffers);
    const std::int64_t layers = stages_.plan().model.num_layers;
    // Of plain data-parallel ranks each has all gradients, so none needs to ask another.
    const bool alone =
        !sharded() && !parameters_.experts() && stages_.context().tp() == 1 && stages_.plan().layout.pp == 1;
    std::vector<Tensor> gradients;
    std::vector<std::int64_t> rows;
    for (const RankParameter& parameter : parameters_.all()) {
        if (!alone && !parameters_.speaks_for(parameter, /*of_data_group=*/!sharded())) continue;
        gradients.push_back(parameter.part.gradient);
        const std::string layer = Decoder::layer_of(parameter.name);
        rows.push_back(layer == "embed" ? 0 : layer == "head" ? layers + 1 : std::stoll(layer) + 1);
    }
    Tensor squares = at::zeros({layers + 2}, torch::dtype(torch::kFloat64));
    const std::vector<double> each = squared_norms(gradients);
    for (std::size_t i = 0; i < each.size(); ++i) squares.mutable_data_ptr<double>()[rows[i]] += each[i];
    if (!alone) {
        Tensor all = squares.to(stages_.device());
        PLIMSOLL_CHECK(stages_.mesh().world().all_reduce_sum(all)->wait());
        squares = host_values(all);
    }
    GradientNorms norms;
    const auto* values = squares.const_data_ptr<double>();
    double sum = 0;
    for (std::int64_t i = 0; i < layers + 2; ++i) {
        const double square = values[i] * inv_scale * inv_scale;
        sum += square;
        norms.layers.emplace_back(i == 0            ? "embed"
                                  : i == layers + 1 ? "head"
                                                    : std::to_string(i - 1),
                                  in_fp32(std::sqrt(square)));
    }
    norms.global = in_fp32(std::sqrt(sum));
    return norms;
}

void GradientSizes::start_clip_by_tensor(const Optimizer& settings) {
    if (settings.clip_rule != ClipRule::AdaGc) return;
    tensor_clip_.emplace(AdaGc::Settings{.absolute = settings.clip}, parameters_.all().size());
}

Result<void> GradientSizes::clip_by_tensor(double inv_scale, double global_norm) {
    if (!tensor_clip_) return {};
    const torch::NoGradGuard no_grad;
    const std::vector<Tensor> gradients = parameters_.gradients();
    std::vector<double> squares = squared_norms(gradients);
    const Tensor all = torch::tensor(squares, torch::kFloat64).to(stages_.device());
    std::vector<std::pair<std::size_t, Tensor>> values;
    for (std::size_t i = 0; i < squares.size(); ++i) {
        values.emplace_back(i, all.narrow(0, static_cast<std::int64_t>(i), 1));
    }
    if (auto summed = sums_.sum(PartSums::Over::Parts, values); !summed) return summed;
    const Tensor host = host_values(all);
    for (std::size_t i = 0; i < squares.size(); ++i) {
        squares[i] = in_fp32(std::sqrt(host.const_data_ptr<double>()[i]) * inv_scale);
    }
    const std::vector<double> factors = tensor_clip_->factors(squares, global_norm);
    for (std::size_t i = 0; i < factors.size(); ++i) {
        if (factors[i] < 1) gradients[i].mul_(factors[i]);
    }
    return {};
}

void GradientSizes::add_averages(std::vector<TensorPart>& parts) const {
    if (!tensor_clip_) return;
    for (std::size_t i = 0; i < parameters_.all().size(); ++i) {
        const RankParameter& parameter = parameters_.all()[i];
        if (!parameters_.speaks_for(parameter, true)) continue;
        Shard number;
        number.whole = {1};
        const Tensor average =
            torch::full({1}, tensor_clip_->averages()[i], torch::dtype(torch::kFloat).device(stages_.device()));
        parts.push_back({average_prefix + parameter.name, number, average});
    }
}

Result<void> GradientSizes::load_averages(const std::map<std::string_view, Tensor>& by_name, std::int64_t updates) {
    if (!tensor_clip_) return {};
    std::vector<double> averages;
    for (const RankParameter& parameter : parameters_.all()) {
        const auto found = by_name.find(average_prefix + parameter.name);
        if (found == by_name.end() || found->second.numel() != 1) {
            return bad_input(
                "the optimizer state has no average of the gradients of {}, which optimizer.clip_rule adagc goes on "
                "from; set it to global, or start anew",
                parameter.name);
        }
        averages.push_back(found->second.to(torch::kFloat64).item<double>());
    }
    tensor_clip_->restore(updates, std::move(averages));
    return {};
}

void GradientSizes::measure_noise(bool on) {
    std::vector<bool> counts;
    for (const RankParameter& parameter : parameters_.all()) {
        if (!parameter.expert) counts.push_back(counts_for_noise(parameter));
    }
    if (on) {
        parameters_.own_squares().start(std::move(counts));
    } else {
        parameters_.own_squares().stop();
    }
    measures_noise_ = on;
    backwards_ = 0;
}

/// Without other data-parallel ranks the first micro-batch's gradient is the small batch.
void GradientSizes::before_backward() {
    if (!measures_noise_ || backwards_++ != 1) return;
    if (stages_.mesh().data().world_size() == 1 && stages_.plan().layout.zero_stage < 2)
        parameters_.own_squares().add_all();
}

Result<std::pair<NormSample, NormSample>> GradientSizes::noise_samples(double inv_scale) const {
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> gradients;
    for (const RankParameter& parameter : parameters_.all()) {
        if (counts_for_noise(parameter) && parameters_.speaks_for(parameter, /*of_data_group=*/!sharded())) {
            gradients.push_back(parameter.part.gradient);
        }
    }
    double big = 0;
    for (const double square : squared_norms(gradients)) big += square;
    // What several tensor-parallel ranks hold is measured by each of them, and counts once.
    Tensor sums =
        torch::tensor({parameters_.own_squares().sum(), big}, torch::dtype(torch::kFloat64)).to(stages_.device());
    PLIMSOLL_CHECK(stages_.mesh().world().all_reduce_sum(sums)->wait());
    const Tensor host = host_values(sums);
    const Layout& layout = stages_.plan().layout;
    const double ranks = static_cast<double>(stages_.mesh().data().world_size());
    const double whole = static_cast<double>(layout.global_batch() * stages_.plan().data.sequence_length);
    const double accumulation = static_cast<double>(layout.accumulation);
    // A micro-batch's gradient is scaled for the sum over all of a step.
    const bool each_reduces = layout.zero_stage >= 2, first_alone = ranks == 1 && !each_reduces;
    const double times = each_reduces ? accumulation : first_alone ? accumulation * accumulation : 1;
    const double small_batch = each_reduces || first_alone ? whole / ranks / accumulation : whole / ranks;
    const double scale = inv_scale * inv_scale;
    return std::pair{NormSample{small_batch, host[0].item<double>() * times / ranks * scale},
                     NormSample{whole, host[1].item<double>() * scale}};
}

}  // namespace plimsoll::engine
