// SPDX-License-Identifier: Apache-2.0
#include "core/engine/activations/packed_tensor.h"

#include "core/engine/activations/block_quantize.h"

namespace plimsoll::engine {

TensorLayout::TensorLayout(const torch::Tensor& tensor) : sizes_(tensor.sizes().vec()), once_(tensor) {
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
        if (tensor.stride(d) == 0 && tensor.size(d) > 1) once_ = once_.narrow(d, 0, 1);
    }
    dense_ = once_.is_non_overlapping_and_dense();
}

torch::Tensor TensorLayout::flat() const {
    return dense_ ? once_.as_strided({once_.numel()}, {1}, once_.storage_offset()) : once_.reshape({-1});
}

TensorLayout::Shape TensorLayout::shape() const {
    Shape shape{sizes_, once_.sizes().vec(), std::nullopt};
    if (dense_) shape.once_strides = once_.strides().vec();
    return shape;
}

torch::Tensor TensorLayout::Shape::over(const torch::Tensor& flat) const {
    const torch::Tensor once = once_strides ? flat.as_strided(once_sizes, *once_strides) : flat.view(once_sizes);
    return once.expand(sizes);
}

PackedNumbers::PackedNumbers(const torch::Tensor& flat, bool compress, bool offload) : dtype_(flat.scalar_type()) {
    if (compress) {
        const QuantizedBlocks blocks = quantize_blocks(flat);
        tensors_ = {blocks.codes, blocks.scales};
    } else {
        tensors_ = {flat};
    }
    if (!offload) return;
    for (const torch::Tensor& tensor : tensors_) copies_.emplace_back(tensor);
    tensors_.clear();
}

torch::Tensor PackedNumbers::restored() const {
    std::vector<torch::Tensor> tensors = tensors_;
    for (const HostCopy& copy : copies_) tensors.push_back(copy.fetch());
    return tensors.size() == 1 ? tensors[0] : dequantize_blocks({tensors[0], tensors[1]}, dtype_);
}

}  // namespace plimsoll::engine
