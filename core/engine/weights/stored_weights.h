// SPDX-License-Identifier: Apache-2.0
// Weights from checkpoints of PyTorch and DeepSpeed (core/checkpoint/stored_checkpoint.h).
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Hands out the weights of the plan's model, one at a time, in the file's dtype and under Hugging Face's names, which
/// may lack the model's prefix. Llama and Mistral may have Meta's names (consolidated.pth, torchtitan): their queries
/// and keys have rows in another order, which is put right. Error where the checkpoint cannot be read or holds no such
/// model. The first error of `take` ends it.
Result<void> each_stored_weight(const std::filesystem::path& checkpoint, const Plan& plan,
                                const std::function<Result<void>(const std::string&, const torch::Tensor&)>& take);

}  // namespace plimsoll::engine
