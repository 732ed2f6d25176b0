// SPDX-License-Identifier: Apache-2.0
// The parts that decoders are built of: projections, norms, embeddings, rotary positions.
#pragma once

#include <torch/torch.h>

#include "core/engine/base/shard.h"
#include "core/engine/layers/model_context.h"

namespace plimsoll::engine {

/// Which dimension of a matrix the tensor-parallel ranks split.
enum class MatrixSplit { None, Columns, Rows };

/// y = x W + b over the ranks of a tensor-parallel group. The weight is [out, in] as torch's Linear has it, or [in,
/// out] as GPT-2's Conv1D. Columns: each rank holds some of the outputs; the caller has passed the input through
/// enter_tensor_parallel(). Rows: each rank holds some of the inputs; forward() includes the sum over ranks and the
/// bias.
///
/// With a low-rank adapter (LoRA, Hu 2021) y = x W + b + scale (x A) B; W and b then do not train. A and B are cut as W
/// is: for a W split by columns, each rank holds A and some columns of B; for a W split by rows, each rank holds some
/// rows of A, and B. The names, shapes and initial values are PEFT's: lora_A.weight [rank, in], lora_B.weight [out,
/// rank].
class Linear : public ShardedModule {
public:
    struct Shape {
        std::int64_t in = 0, out = 0;
        bool bias = false;
        bool transposed = false;  ///< Conv1D
        MatrixSplit split = MatrixSplit::None;
        std::int64_t fused = 1;         ///< number of matrices side by side (q, k, v), each split by columns
        std::int64_t shared_by = 1;     ///< columns: number of neighbouring ranks with the same ones (key-value heads)
        bool sum_in_forward = true;     ///< rows: false leaves the sum to the caller (experts)
        std::int64_t adapter_rank = 0;  ///< 0: none
    };
    Linear(const Shape& shape, const ModelContext& context);
    /// `leave_out`: the result is unread (unread_result.h).
    torch::Tensor forward(const torch::Tensor& x, bool leave_out = false) const;
    const torch::Tensor& weight() const { return weight_; }

private:
    torch::Tensor product(const torch::Tensor& x, const torch::Tensor& bias, bool leave_out) const;
    /// y plus the adapter's product with x.
    torch::Tensor adapted(const torch::Tensor& x, const torch::Tensor& y) const;

    Shape shape_;
    ModelContext context_;
    torch::Tensor weight_, bias_;
    torch::Tensor down_, up_;  ///< A and B; undefined: no adapter
};

/// `shape` with an adapter where the plan puts one on that matrix. `module`: the matrix's name in the layer, as in
/// core/plan/adapter.h.
Linear::Shape with_adapter(Linear::Shape shape, const Plan& plan, std::string_view module);

/// Rows of a table: the vocabulary (split over tensor-parallel ranks) or learned positions (on each).
class Embedding : public ShardedModule {
public:
    Embedding(std::int64_t rows, std::int64_t width, bool split, const ModelContext& context);
    /// A split table gives the sum over ranks; with sequence parallelism the sum is cut along the sequence.
    torch::Tensor forward(const torch::Tensor& indices) const;
    const torch::Tensor& weight() const { return weight_; }

private:
    bool split_;
    ModelContext context_;
    torch::Tensor weight_;
};

/// x / sqrt(mean(x²) + eps) · weight (Zhang & Sennrich 2019); statistics in fp32 for half precision. Saves the input
/// and one number per row for the backward pass.
class RmsNorm : public ShardedModule {
public:
    /// `per_head`: the norm works on the heads of this rank, so this rank's gradient of the weight is a part of the sum
    /// over tensor-parallel ranks.
    RmsNorm(std::int64_t width, double eps, const ModelContext& context, bool per_head = false);
    torch::Tensor forward(const torch::Tensor& x) const;

private:
    torch::Tensor weight_;
    double eps_;
};

/// (x - mean) / sqrt(variance + eps) · weight + bias (Ba 2016); statistics in fp32 for half precision.
class LayerNorm : public ShardedModule {
public:
    LayerNorm(std::int64_t width, double eps, const ModelContext& context);
    torch::Tensor forward(const torch::Tensor& x) const;

private:
    torch::Tensor weight_, bias_;
    double eps_;
};

/// Rotary positions (Su 2021) in Hugging Face's convention: element i of a head is rotated together with element i +
/// head/2.
class Rotary {
public:
    struct Table {
        torch::Tensor cos, sin;  ///< [time, 1, head/2]
    };

    Rotary(std::int64_t head_size, double theta) : head_size_(head_size), theta_(theta) {}
    /// The table for positions [time] (int64), in the dtype and on the device of `like`.
    Table table(const torch::Tensor& positions, const torch::Tensor& like) const;
    /// x [batch, time, heads, head] rotated by each position. Nothing of x is saved for the backward pass.
    static torch::Tensor turn(const torch::Tensor& x, const Table& table);

private:
    std::int64_t head_size_;
    double theta_;
};

}  // namespace plimsoll::engine
