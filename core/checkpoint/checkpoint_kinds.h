// SPDX-License-Identifier: Apache-2.0
// The readers behind open_checkpoint, one for each kind of checkpoint. For core/checkpoint only.
#pragma once

#include "core/checkpoint/pickle.h"
#include "core/checkpoint/stored_checkpoint.h"

namespace plimsoll {

Result<StoredCheckpoint> open_torch_file(const std::filesystem::path& file);
Result<StoredCheckpoint> open_torch_shards(const std::filesystem::path& folder);
Result<StoredCheckpoint> open_distributed(const std::filesystem::path& folder);
Result<StoredCheckpoint> open_universal(const std::filesystem::path& folder);
Result<StoredCheckpoint> open_zero(const std::filesystem::path& folder);

/// Puts a tensor with the weights or with the optimizer's states, by its name ("optimizer.state.NAME.exp_avg"). A
/// tensor of neither kind ("train_state.step") is dropped.
void sort_in(StoredTensor tensor, StoredCheckpoint& checkpoint);

/// Whether the name leads to no other folder.
bool is_plain_name(std::string_view name);

/// Names of files in a folder that begin with `begin`, end with `end` and have something between, sorted with numbers
/// as numbers.
std::vector<std::string> files_named(const std::filesystem::path& folder, std::string_view begin, std::string_view end);

/// DeepSpeed's list of dicts name -> shape, one a group of parameters, in the order of the flat group.
struct NamedShape {
    std::string name;
    std::vector<std::int64_t> shape;
};
Result<std::vector<std::vector<NamedShape>>> param_shapes(const Pickle& pickle, PickleId value,
                                                          const std::string& what);

}  // namespace plimsoll
