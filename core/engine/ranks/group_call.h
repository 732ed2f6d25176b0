// SPDX-License-Identifier: Apache-2.0
// What is said about a call of a group of ranks that did not end well.
#pragma once

#include <torch/torch.h>

#include <string>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/engine/ranks/wait_board.h"

namespace plimsoll::engine {

/// "all-reduce of Float [5] in the data-parallel group (ranks 0, 2)".
struct GroupCall {
    const char* what;
    std::string tensor;
    std::string group;  ///< empty for all ranks
    Seconds timeout;

    std::string text() const;
};

std::string tensor_text(const torch::Tensor& tensor);

/// One sentence each: silence is a rank that hangs, a broken connection is a rank that ended. `detail` is what the
/// lower layer said.
tl::unexpected<Error> silent_peer(const GroupCall& call, WaitBoard* board, const std::string& detail);
tl::unexpected<Error> ended_peer(const GroupCall& call, WaitBoard* board, const std::string& detail);
tl::unexpected<Error> not_possible(const GroupCall& call, const std::string& detail);

}  // namespace plimsoll::engine
