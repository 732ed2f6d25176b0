// SPDX-License-Identifier: Apache-2.0
// A moment of one part of a parameter, in the precision in which it is kept between updates.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "core/engine/optimizer/dynamic_codes.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

enum class MomentFormat {
    Wide,      ///< in the dtype of the update, fp32
    Bf16,      ///< rounded to nearest after each update
    Signed,    ///< 8-bit codes of numbers of both signs (dynamic_codes.h)
    Unsigned,  ///< and of numbers from 0
};

/// optimizer.state_dtype
MomentFormat moment_format(const Optimizer& settings);

/// Updates are computed in fp32, whatever the format.
class Moment {
public:
    /// Zeros. `wide`: dtype and device of the update.
    Moment(std::int64_t count, const torch::TensorOptions& wide, MomentFormat format);
    /// Numbers that may be changed; store() must follow.
    torch::Tensor load(std::int64_t begin, std::int64_t length) const;
    void store(std::int64_t begin, const torch::Tensor& numbers) const;
    /// What has to be kept between updates.
    std::vector<torch::Tensor> tensors() const { return codes_ ? codes_->tensors() : std::vector{numbers_}; }
    /// The moment for a checkpoint, flat: the live tensor, or an fp32 copy of codes.
    torch::Tensor all() const { return codes_ ? codes_->read(0, count_) : numbers_; }
    void set(const torch::Tensor& loaded) const;

private:
    std::int64_t count_;
    std::unique_ptr<DynamicCodes> codes_;  ///< null: not in codes
    torch::Tensor numbers_;
    bool narrow_ = false;
};

}  // namespace plimsoll::engine
