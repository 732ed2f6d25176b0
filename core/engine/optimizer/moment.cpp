// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/moment.h"

#include "core/engine/optimizer/optimizer_kinds.h"

namespace plimsoll::engine {

MomentFormat moment_format(const Optimizer& settings) {
    return settings.state_dtype == Dtype::Bf16 ? MomentFormat::Bf16 : MomentFormat::Wide;
}

Moment::Moment(std::int64_t count, const torch::TensorOptions& wide, MomentFormat format)
    : count_(count), narrow_(format == MomentFormat::Bf16) {
    if (format == MomentFormat::Signed || format == MomentFormat::Unsigned) {
        codes_ = std::make_unique<DynamicCodes>(count, format == MomentFormat::Signed, wide.device());
    } else {
        numbers_ = at::zeros({count}, narrow_ ? wide.dtype(torch::kBFloat16) : wide);
    }
}

torch::Tensor Moment::load(std::int64_t begin, std::int64_t length) const {
    if (codes_) return codes_->read(begin, length);
    const torch::Tensor numbers = numbers_.narrow(0, begin, length);
    return narrow_ ? numbers.to(torch::kFloat) : numbers;
}

void Moment::store(std::int64_t begin, const torch::Tensor& numbers) const {
    if (codes_) {
        codes_->write(begin, numbers);
    } else if (narrow_) {
        numbers_.narrow(0, begin, numbers.numel()).copy_(numbers);
    }
}

void Moment::set(const torch::Tensor& loaded) const {
    const torch::Tensor flat = loaded.reshape(-1);
    if (!codes_) {
        numbers_.copy_(flat);
        return;
    }
    for_each_chunk(flat.numel(), [&](std::int64_t begin, std::int64_t length) {
        codes_->write(begin, flat.narrow(0, begin, length));
    });
}

}  // namespace plimsoll::engine
