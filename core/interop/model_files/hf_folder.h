// SPDX-License-Identifier: Apache-2.0
// A run's checkpoint as a folder that transformers' from_pretrained reads, copied without LibTorch.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

struct HfFolderOptions {
    Bytes shard_size = 5 * GB;  ///< most bytes of tensors in a file; a larger tensor gets a file of its own
    /// Called between blocks of some MiB; returning false ends the export, and nothing is left of it.
    std::function<bool(Bytes done, Bytes total)> go_on;
};

struct HfFolder {
    std::size_t files = 0;  ///< of weights
    std::size_t tensors = 0;
    Bytes bytes = 0;  ///< of the tensors
};

/// Writes config.json and model.safetensors into a new folder `out`; tensors beyond the shard size go to
/// model-00001-of-0000N.safetensors and so on, with model.safetensors.index.json. Tensors are copied byte for byte, a
/// block at a time. The folder is made aside and renamed, so it is whole or absent. Error when `out` exists, when there
/// is no room for it, and when a file of the checkpoint has changed since it was verified.
Result<HfFolder> export_hf_folder(const std::filesystem::path& checkpoint, const std::filesystem::path& out,
                                  const HfFolderOptions& options = {});

/// Writes a checkpoint's adapter_model.safetensors and adapter_config.json into a new folder `out`, which is whole or
/// absent, for PeftModel.from_pretrained. Error when `out` exists and when the run trained no adapter.
Result<void> export_peft_folder(const std::filesystem::path& checkpoint, const std::filesystem::path& out);

/// The weights that checkpoint_to_export requires of a checkpoint.
enum class ExportedWeights { Model, Adapter };

/// The checkpoint of step `step`, or with step 0 the newest whose weights and config are whole; damaged checkpoints
/// that were passed over are named in `skipped`. The error says which checkpoints there are.
Result<std::filesystem::path> checkpoint_to_export(const std::filesystem::path& checkpoints, std::int64_t step,
                                                   ExportedWeights weights, std::vector<std::string>* skipped);

}  // namespace plimsoll
