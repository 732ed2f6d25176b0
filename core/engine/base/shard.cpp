// SPDX-License-Identifier: Apache-2.0
#include "core/engine/base/shard.h"

#include <algorithm>

namespace plimsoll::engine {

std::vector<std::int64_t> Shard::sizes() const {
    std::vector<std::int64_t> sizes = whole;
    if (dim < 0) return sizes;
    std::int64_t length = 0;
    for (const auto& range : ranges) length += range.second;
    sizes[static_cast<std::size_t>(dim)] = length;
    return sizes;
}

torch::Tensor Shard::cut(const torch::Tensor& whole_tensor) const {
    if (dim < 0) return whole_tensor.contiguous();
    std::vector<torch::Tensor> parts;
    for (const auto& [begin, length] : ranges) parts.push_back(whole_tensor.narrow(dim, begin, length));
    return at::cat(parts, dim).contiguous();
}

void Shard::put(const torch::Tensor& part, torch::Tensor& whole_tensor) const {
    if (dim < 0) {
        whole_tensor.copy_(part);
        return;
    }
    std::int64_t at = 0;
    for (const auto& [begin, length] : ranges) {
        whole_tensor.narrow(dim, begin, length).copy_(part.narrow(dim, at, length));
        at += length;
    }
}

Shard shard_along(std::vector<std::int64_t> whole, std::int64_t dim, int rank, int ranks) {
    if (ranks == 1) return replicated(std::move(whole), 1);
    const std::int64_t size = whole[static_cast<std::size_t>(dim)];
    const std::int64_t share = (size + ranks - 1) / ranks;
    const std::int64_t begin = std::min(size, rank * share);
    Shard shard;
    shard.whole = std::move(whole);
    shard.dim = dim;
    shard.ranges = {{begin, std::min(share, size - begin)}};
    return shard;
}

Shard replicated(std::vector<std::int64_t> whole, int ranks) {
    Shard shard;
    shard.whole = std::move(whole);
    shard.replicas = ranks;
    return shard;
}

torch::Tensor ShardedModule::register_sharded(const std::string& name, Shard shard, const ParameterMemory& memory) {
    const std::vector<std::int64_t> sizes = shard.sizes();
    torch::Tensor tensor = torch::empty(memory.later ? std::vector<std::int64_t>{1} : sizes, memory.options);
    // One number, seen from everywhere; not as a view, for a parameter is a leaf.
    if (memory.later) tensor.set_(tensor.storage(), 0, sizes, std::vector<std::int64_t>(sizes.size(), 0));
    torch::Tensor parameter = register_parameter(name, tensor);
    shards_.emplace(name, std::move(shard));
    return parameter;
}

std::map<std::string, Shard> shards_of(const torch::nn::Module& module) {
    std::map<std::string, Shard> all;
    module.apply([&](const std::string& path, const torch::nn::Module& each) {
        const auto* sharded = dynamic_cast<const ShardedModule*>(&each);
        if (sharded == nullptr) return;
        for (const auto& [name, shard] : sharded->shards()) {
            all.emplace(path.empty() ? name : path + "." + name, shard);
        }
    });
    return all;
}

}  // namespace plimsoll::engine
