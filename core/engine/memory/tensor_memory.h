// SPDX-License-Identifier: Apache-2.0
// The memory of a tensor, taken from it and given again, while views of it stay.
#pragma once

#include <torch/torch.h>

#include "core/base/units.h"

namespace plimsoll::engine {

inline c10::StorageImpl* storage_of(const torch::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

/// Takes the tensor's memory away and returns it.
inline at::DataPtr take_memory(const torch::Tensor& tensor) {
    c10::StorageImpl* const storage = storage_of(tensor);
    at::DataPtr memory = storage->set_data_ptr(at::DataPtr(nullptr, tensor.device()));
    storage->set_nbytes(std::size_t{0});
    return memory;
}

/// Gives the tensor memory with undefined contents.
inline void give_memory(const torch::Tensor& tensor, Bytes bytes) {
    c10::StorageImpl* const storage = storage_of(tensor);
    storage->set_data_ptr_noswap(storage->allocator()->allocate(static_cast<std::size_t>(bytes)));
    storage->set_nbytes(static_cast<std::size_t>(bytes));
}

}  // namespace plimsoll::engine
