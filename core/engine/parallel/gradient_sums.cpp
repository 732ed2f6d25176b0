// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/gradient_sums.h"

#include <map>

namespace plimsoll::engine {

using torch::Tensor;

namespace {

/// Sums the tensors in place with one message.
Result<void> sum_flat(std::vector<Tensor> tensors, Collectives& ranks) {
    if (tensors.empty() || ranks.world_size() == 1) return {};
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> flat;
    for (const Tensor& tensor : tensors) flat.push_back(tensor.reshape({-1}));
    const Tensor all = at::cat(flat);
    if (auto summed = ranks.all_reduce_sum(all)->wait(); !summed) return summed;
    std::int64_t at = 0;
    for (Tensor& tensor : tensors) {
        tensor.copy_(all.narrow(0, at, tensor.numel()).view(tensor.sizes()));
        at += tensor.numel();
    }
    return {};
}

Result<void> sum_by_dtype(const std::vector<Tensor>& gradients, Collectives& ranks) {
    std::map<torch::ScalarType, std::vector<Tensor>> by_dtype;
    for (const Tensor& gradient : gradients) by_dtype[gradient.scalar_type()].push_back(gradient);
    for (const auto& [dtype, tensors] : by_dtype) {
        if (auto summed = sum_flat(tensors, ranks); !summed) return summed;
    }
    return {};
}

}  // namespace

Result<void> GradientSums::finish() {
    const FamilyNames names = names_of(stages_.plan().model.family);
    const std::string embedding = names.body + "." + names.embedding + ".weight";
    std::vector<Tensor> over_tensor, over_heads, tied;
    for (const RankParameter& parameter : parameters_.all()) {
        const Tensor& gradient = parameter.part.gradient;
        if (parameter.shard.gradient == Shard::Gradient::PartOverTensor) over_tensor.push_back(gradient);
        if (parameter.shard.gradient == Shard::Gradient::PartOverSharedHeads) over_heads.push_back(gradient);
        if (stages_.tied_over_ranks() && parameter.name == embedding) tied.push_back(gradient);
    }
    const Mesh& mesh = stages_.mesh();
    if (auto summed = sum_by_dtype(over_tensor, mesh.tensor()); !summed) return summed;
    if (auto summed = sum_by_dtype(over_heads, mesh.shared_heads()); !summed) return summed;
    return sum_by_dtype(tied, mesh.ends());
}

Result<void> GradientSums::sum(Over over, const std::vector<std::pair<std::size_t, Tensor>>& values) {
    // ZeRO's ranges are other rows, or other numbers.
    const bool ranges = stages_.plan().layout.zero_stage >= 1 && over != Over::Columns;
    std::vector<Tensor> dense, expert, sliced;
    for (const auto& [index, tensor] : values) {
        const RankParameter& parameter = parameters_.all()[index];
        if (ranges) (parameter.expert ? expert : dense).push_back(tensor);
        const std::int64_t dim = parameter.shard.dim;
        const bool split = over == Over::Parts ? dim >= 0 : over == Over::Rows ? dim == 0 : dim > 0;
        if (!split) continue;
        sliced.push_back(tensor);
        // What several ranks hold counts once.
        tensor.div_(parameter.shard.replicas);
    }
    const Mesh& mesh = stages_.mesh();
    if (auto summed = sum_flat(dense, mesh.data()); !summed) return summed;
    if (auto summed = sum_flat(expert, mesh.expert_data()); !summed) return summed;
    return sum_flat(sliced, mesh.tensor());
}

}  // namespace plimsoll::engine
