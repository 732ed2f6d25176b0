// SPDX-License-Identifier: Apache-2.0
// Which part of a whole tensor a tensor-parallel rank holds.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::engine {

/// Some ranges along one dimension of a whole tensor (as Hugging Face stores it), in order: GPT-2's fused q, k and v
/// are three of them.
struct Shard {
    std::vector<std::int64_t> whole;                            ///< sizes
    std::int64_t dim = -1;                                      ///< -1: the whole tensor
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  ///< begin and length along `dim`
    int replicas = 1;                                           ///< tensor-parallel ranks that hold the same values
    /// Each rank's gradient is a part of the sum over all tensor-parallel ranks (what sequence parallelism does to
    /// norms), or over those with the same key-value head.
    enum class Gradient { Whole, PartOverTensor, PartOverSharedHeads } gradient = Gradient::Whole;
    /// A second copy, on the last pipeline stage, of a weight that the first one holds under this name.
    std::string copy_of;

    std::vector<std::int64_t> sizes() const;
    /// This rank's part of the whole tensor, contiguous.
    torch::Tensor cut(const torch::Tensor& whole_tensor) const;
    /// Writes the part to its place.
    void put(const torch::Tensor& part, torch::Tensor& whole_tensor) const;
};

/// Part `rank` of `ranks` along `dim`: equal parts, the last one smaller where the size does not divide.
Shard shard_along(std::vector<std::int64_t> whole, std::int64_t dim, int rank, int ranks);
/// A tensor that every one of `ranks` holds.
Shard replicated(std::vector<std::int64_t> whole, int ranks);

/// Where a parameter is made.
struct ParameterMemory {
    /// Dtype and device at first: fp32 on the CPU. The parameter is moved to its training device later.
    torch::TensorOptions options = torch::dtype(torch::kFloat);
    /// The parameter gets no memory of its own: ZeRO-3 makes the parameter a view of its bucket (buckets.h).
    bool later = false;
};

/// A module whose parameters know their shard.
class ShardedModule : public torch::nn::Module {
public:
    const std::map<std::string, Shard>& shards() const { return shards_; }
    /// Says that the parameter is a copy of another rank's parameter with this full name.
    void mark_copy_of(const std::string& name, std::string full_name) {
        shards_.at(name).copy_of = std::move(full_name);
    }

protected:
    /// Made empty: initialize() fills it.
    torch::Tensor register_sharded(const std::string& name, Shard shard, const ParameterMemory& memory);

private:
    std::map<std::string, Shard> shards_;
};

/// Shards of all parameters in a module by full name. Every parameter must belong to a ShardedModule.
std::map<std::string, Shard> shards_of(const torch::nn::Module& module);

}  // namespace plimsoll::engine
