// SPDX-License-Identifier: Apache-2.0
// Checkpoints of PyTorch and DeepSpeed, as lists of tensors.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/checkpoint/stored_tensor.h"

namespace plimsoll {

enum class CheckpointKind {
    TorchFile,           ///< one file of torch.save: pytorch_model.bin, .pt, .pth, .ckpt
    TorchShards,         ///< pytorch_model-…-of-….bin and their index
    Distributed,         ///< torch.distributed.checkpoint: .metadata and *.distcp
    DeepSpeedUniversal,  ///< what DeepSpeed's ds_to_universal.py writes
    DeepSpeedZero,       ///< what DeepSpeed's save_checkpoint writes, of ZeRO 0 to 3
};
inline constexpr std::array<std::string_view, 5> checkpoint_kind_names{
    "torch.save", "torch.save in shards", "torch.distributed.checkpoint", "DeepSpeed universal", "DeepSpeed ZeRO"};
inline constexpr std::string_view name_of(CheckpointKind kind) {
    return checkpoint_kind_names[static_cast<std::size_t>(kind)];
}

struct StoredCheckpoint {
    CheckpointKind kind = CheckpointKind::TorchFile;
    std::filesystem::path path;  ///< the file or folder that was found
    std::size_t files = 0;
    std::vector<StoredTensor> weights;  ///< all tensors that are not an optimizer's
    std::vector<StoredTensor> states;   ///< an optimizer's states, where they are stored as whole tensors
    std::set<std::string> state_names;  ///< names of the optimizer's states: exp_avg, exp_avg_sq, …
    std::optional<std::int64_t> step;
};

/// The kind of checkpoint at a file or in a folder, and its exact place (a folder's `latest` and Accelerate's
/// pytorch_model_fsdp_0 are followed); nothing where no kind is recognised. Looks at names alone.
struct CheckpointPlace {
    CheckpointKind kind;
    std::filesystem::path path;
};
std::optional<CheckpointPlace> find_checkpoint(const std::filesystem::path& file_or_folder);

/// Names, shapes and places of all tensors; of the values only the step is read. Every place lies in its file. Error
/// where no kind is recognised, a file is missing, damaged or hostile, or the checkpoint is in parts that cannot be put
/// together here; in the last case the sentence says which tool can.
Result<StoredCheckpoint> open_checkpoint(const std::filesystem::path& file_or_folder);

/// The tensors of `weights` that belong to the model, under names without the prefix that a tool put before them
/// ("module.", "model.", "_orig_mod.", …): the longest prefix under which the table of embeddings is found. `embedding`
/// is the table's last name ("embed_tokens.weight"). `heads` are the first parts of names that count ("model",
/// "lm_head", "layers", …), of which heads[0] belongs to the model. Error where there is no such table, or two; and
/// where the tensors are larger than their files could hold.
Result<std::vector<StoredTensor>> model_weights(const StoredCheckpoint& checkpoint, const std::string& embedding,
                                                const std::vector<std::string>& heads);

}  // namespace plimsoll
