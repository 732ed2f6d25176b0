// SPDX-License-Identifier: Apache-2.0
// The keys of a Hugging Face config.json: the one list of what becomes of each.
#pragma once

#include <cstddef>
#include <span>

#include "core/plan/hugging_face/file_keys.h"
#include "core/plan/model.h"

namespace plimsoll {

/// Every key that is known of a config.json of the family (PreTrainedConfig and the family's own class of transformers
/// 4.40 to 5.24, and keys that other families or tools put there), each name once.
std::vector<FileKey> config_keys(Family family);

/// Bytes of a value that a plan keeps at most: a plan's file has a limit.
inline constexpr std::size_t longest_kept_key = 65'536;

/// The judged keys of a window of attention, which stand or fall together.
std::span<const std::string_view> window_keys();

}  // namespace plimsoll
