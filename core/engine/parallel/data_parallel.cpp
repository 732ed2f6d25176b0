// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/data_parallel.h"

namespace plimsoll::engine {

DataParallel::DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& named_parameters,
                           Collectives& ranks, Bytes bucket_bytes, bool fp32_gradients)
    : DataParallel(
          [&] {
              std::vector<ParallelParameter> parameters;
              for (const auto& [name, tensor] : named_parameters) parameters.push_back({name, tensor});
              return parameters;
          }(),
          ranks, DataParallelOptions{bucket_bytes, fp32_gradients}) {}

DataParallel::DataParallel(std::vector<ParallelParameter> parameters, Collectives& ranks,
                           const DataParallelOptions& options)
    : ranks_(ranks),
      buckets_(std::move(parameters), ranks.rank(), ranks.world_size(), options),
      shards_(buckets_, ranks),
      gathering_(buckets_, ranks),
      own_squares_(buckets_),
      reduction_(buckets_, ranks, [this](const Bucket& bucket) {
          if (ranks_.world_size() > 1) own_squares_.add(bucket);
      }) {}

Result<void> DataParallel::broadcast_parameters() {
    if (ranks_.world_size() == 1) return {};
    const torch::NoGradGuard no_grad;
    const bool sharded = buckets_.options().zero_stage >= 1;
    for (Bucket& bucket : buckets_.all()) {
        if (auto sent = sharded ? broadcast_sharded(bucket) : broadcast_whole(bucket); !sent) return sent;
    }
    zero_gradients();
    return {};
}

Result<void> DataParallel::broadcast_sharded(Bucket& bucket) {
    gathering_.gather(bucket.unit);
    auto sent = ranks_.broadcast(bucket.parameters.tensor(), 0);
    if (sent && buckets_.options().zero_stage >= 3) {
        PLIMSOLL_TRY(const auto held, HeldStates::hold(parameter_store(), bucket.number));
        bucket.parameter_shard.copy_(buckets_.own_range(bucket.parameters.tensor(), bucket));
    }
    gathering_.release(bucket.unit);
    return sent;
}

/// Goes through the memory of the gradients, which is flat.
Result<void> DataParallel::broadcast_whole(Bucket& bucket) {
    std::vector<Slot>& slots = buckets_.slots();
    for (const std::size_t i : bucket.slots) slots[i].gradient.copy_(slots[i].parameter.tensor);
    if (auto sent = ranks_.broadcast(bucket.gradients.tensor(), 0); !sent) return sent;
    for (const std::size_t i : bucket.slots) slots[i].parameter.tensor.copy_(slots[i].gradient);
    return {};
}

}  // namespace plimsoll::engine
