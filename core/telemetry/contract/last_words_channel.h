// SPDX-License-Identifier: Apache-2.0
// Where a rank leaves its last sentence for its supervisor, beside its log: the log may lie on a disk that is full.
#pragma once

namespace plimsoll {

/// The environment variable that names the descriptor: memory that the supervisor reads when the rank has ended. Ranks
/// that torchrun, Slurm or mpirun started have none.
inline constexpr const char* last_words_variable = "PLIMSOLL_LAST_WORDS";

}  // namespace plimsoll
