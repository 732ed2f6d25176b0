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
    Bytes shard_size = 5 * GB;  ///< tensors of a file at most; one that is larger has a file for itself
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
/// block at a time. The folder is made aside and renamed: it is whole or absent. Error when `out` exists, when there is
/// no room for it, and when a file of the checkpoint is no more what was found whole.
Result<HfFolder> export_hf_folder(const std::filesystem::path& checkpoint, const std::filesystem::path& out,
                                  const HfFolderOptions& options = {});

/// Writes a checkpoint's adapter_model.safetensors and adapter_config.json into a new folder `out`, which is whole or
/// absent, for PeftModel.from_pretrained. Error when `out` exists and when the run trained no adapter.
Result<void> export_peft_folder(const std::filesystem::path& checkpoint, const std::filesystem::path& out);

/// Which weights a checkpoint is looked at for.
enum class ExportedWeights { Model, Adapter };

/// The checkpoint of that step, or with step 0 the newest of which weights and their config are whole; damaged ones
/// that are passed over are named in `skipped`. The error says which checkpoints there are.
Result<std::filesystem::path> checkpoint_to_export(const std::filesystem::path& checkpoints, std::int64_t step,
                                                   ExportedWeights weights, std::vector<std::string>* skipped);

}  // namespace plimsoll
