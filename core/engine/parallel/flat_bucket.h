// SPDX-License-Identifier: Apache-2.0
// Several parameters in one flat tensor, cut into one equal shard a rank.
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::engine {

/// Where a parameter lies in its bucket.
struct BucketPlace {
    std::int64_t begin = 0;
    std::vector<std::int64_t> sizes;
    std::int64_t numel = 0;
};

/// Parameters one after the other, each at a multiple of a cache line, with zeros at the end so that the shards of all
/// ranks are equal. A shard may begin and end in the middle of a parameter.
class BucketLayout {
public:
    /// `granularity`: the size of a shard is a multiple of this many numbers.
    BucketLayout(const std::vector<torch::Tensor>& parameters, c10::ScalarType dtype, int shards,
                 std::int64_t granularity = 1);

    std::int64_t numel() const { return shard_numel_ * shards_; }
    std::int64_t shard_numel() const { return shard_numel_; }
    const std::vector<BucketPlace>& places() const { return places_; }
    /// The view of parameter `i` in a flat tensor of numel() numbers.
    torch::Tensor view(const torch::Tensor& flat, std::size_t i) const;
    /// The range of parameter `i` in the shard of `rank`: where the range begins in the parameter and in the shard, and
    /// its length (0: none).
    struct Range {
        std::int64_t in_parameter = 0, in_shard = 0, length = 0;
    };
    Range range(std::size_t i, int rank) const;

private:
    int shards_;
    std::int64_t shard_numel_ = 0;
    std::vector<BucketPlace> places_;
};

/// A flat tensor whose memory can be given back and taken again while views of it stay.
class Releasable {
public:
    Releasable() = default;
    Releasable(std::int64_t numel, const torch::TensorOptions& options);
    const torch::Tensor& tensor() const { return tensor_; }
    bool present() const { return present_; }
    /// Contents are undefined after a take.
    void take();
    void release();

private:
    torch::Tensor tensor_;
    bool present_ = true;
};

}  // namespace plimsoll::engine
