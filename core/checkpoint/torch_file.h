// SPDX-License-Identifier: Apache-2.0
// A file that torch.save wrote (PyTorch 1.6 or later): a zip archive with a pickle and the storages that the pickle
// refers to. No part of the pickle is executed.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/checkpoint/pickle.h"
#include "core/checkpoint/stored_tensor.h"

namespace plimsoll {

class TorchFile {
public:
    /// Errors name the file: no such archive, damaged, cut short, big-endian, or in the format before PyTorch 1.6.
    static Result<TorchFile> open(const std::filesystem::path& path);
    /// Opens an archive that takes up `bytes` bytes of the file from `begin`.
    static Result<TorchFile> open(const std::filesystem::path& path, std::uint64_t begin, std::uint64_t bytes);

    const Pickle& pickle() const { return pickle_; }
    const std::filesystem::path& path() const { return path_; }

    /// The tensor that a value of the pickle describes; nothing where the value is no tensor. Error where the tensor
    /// cannot be read (quantized, sparse, of another process) or its storage is missing or too small.
    Result<std::optional<StoredTensor>> tensor(PickleId value, const std::string& name) const;

    /// Every tensor in a dict and in nested dicts: names are keys joined by dots, as in a state_dict's. Tensors in
    /// lists and objects are left out. Errors as of tensor(); also where a name is not UTF-8, and where there are more
    /// tensors than a checkpoint could have.
    Result<std::vector<StoredTensor>> tensors(PickleId dict) const;

    /// A whole number, or a tensor with one.
    std::optional<std::int64_t> number(PickleId value) const;

private:
    struct Storage {
        std::shared_ptr<const StoredBytes> bytes;
        std::string dtype;  ///< empty: the tensor gives its dtype
    };
    Result<Storage> storage(PickleId persistent, const std::string& name) const;

    std::filesystem::path path_;
    Pickle pickle_;
    std::map<std::string, std::shared_ptr<const StoredBytes>, std::less<>>
        records_;  ///< by name without the first folder
};

/// The safetensors name of "torch.float32" and its kin; empty for others.
std::string_view dtype_of_torch(std::string_view global);

}  // namespace plimsoll
