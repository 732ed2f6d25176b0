// SPDX-License-Identifier: Apache-2.0
// The parts that decoders are built of: projections, norms, embeddings, rotary positions, dropout.
#pragma once

#include <torch/torch.h>

#include <utility>

namespace plimsoll::engine {

/// y = x Wᵀ + b, weight [out, in] (torch's Linear, without its initialization).
class Linear : public torch::nn::Module {
public:
    Linear(std::int64_t in, std::int64_t out, bool bias);
    torch::Tensor forward(const torch::Tensor& x) const { return at::linear(x, weight_, bias_); }

private:
    torch::Tensor weight_, bias_;
};

/// y = x W + b, weight [in, out]: what transformers calls Conv1D in GPT-2.
class Conv1d : public torch::nn::Module {
public:
    Conv1d(std::int64_t in, std::int64_t out);
    torch::Tensor forward(const torch::Tensor& x) const;

private:
    torch::Tensor weight_, bias_;
};

class Embedding : public torch::nn::Module {
public:
    Embedding(std::int64_t rows, std::int64_t width);
    torch::Tensor forward(const torch::Tensor& indices) const { return at::embedding(weight_, indices); }
    const torch::Tensor& weight() const { return weight_; }

private:
    torch::Tensor weight_;
};

/// x / sqrt(mean(x²) + eps) · weight (Zhang & Sennrich 2019); statistics in fp32 for half precision. Saves its input
/// and one number a row for the backward pass.
class RmsNorm : public torch::nn::Module {
public:
    RmsNorm(std::int64_t width, double eps);
    torch::Tensor forward(const torch::Tensor& x) const;

private:
    torch::Tensor weight_;
    double eps_;
};

/// (x - mean) / sqrt(variance + eps) · weight + bias (Ba 2016); statistics in fp32 for half precision.
class LayerNorm : public torch::nn::Module {
public:
    LayerNorm(std::int64_t width, double eps);
    torch::Tensor forward(const torch::Tensor& x) const;

private:
    torch::Tensor weight_, bias_;
    double eps_;
};

/// Rotary positions (Su 2021) in the convention of Hugging Face: number i of a head turns with number i + head/2.
class Rotary {
public:
    struct Table {
        torch::Tensor cos, sin;  ///< [time, 1, head/2]
    };

    Rotary(std::int64_t head_size, double theta) : head_size_(head_size), theta_(theta) {}
    /// For positions 0..time-1, in the dtype and on the device of `like`.
    Table table(std::int64_t time, const torch::Tensor& like) const;
    /// x [batch, time, heads, head] turned by its position. Saves nothing of x for the backward pass.
    static torch::Tensor turn(const torch::Tensor& x, const Table& table);

private:
    std::int64_t head_size_;
    double theta_;
};

/// Zeroes a share `p` of the numbers and scales the others by 1 / (1 - p). No cost for p = 0.
inline torch::Tensor dropout(const torch::Tensor& x, double p) { return p > 0 ? at::dropout(x, p, true) : x; }

}  // namespace plimsoll::engine
