// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/group_call.h"

#include <fmt/ranges.h>

namespace plimsoll::engine {

namespace {

std::string others(WaitBoard* board) {
    const std::string report = board != nullptr ? board->report() : "";
    return report.empty() ? "" : fmt::format("; {}", report);
}

}  // namespace

std::string GroupCall::text() const {
    return fmt::format("{}{}{}{}{}", what, tensor.empty() ? "" : " of ", tensor, group.empty() ? "" : " in the ",
                       group);
}

std::string tensor_text(const torch::Tensor& tensor) {
    return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

tl::unexpected<Error> silent_peer(const GroupCall& call, WaitBoard* board, const std::string& detail) {
    return failed(
        "another rank did not answer within {} during the {}: it hangs or is far behind; look at the "
        "logs of the other ranks{} ({})",
        format_seconds(call.timeout), call.text(), others(board), detail);
}

tl::unexpected<Error> ended_peer(const GroupCall& call, WaitBoard* board, const std::string& detail) {
    return failed(
        "another rank ended, or the connection to it broke, during the {}; the log of the rank that ended "
        "first tells the cause{} ({})",
        call.text(), others(board), detail);
}

tl::unexpected<Error> not_possible(const GroupCall& call, const std::string& detail) {
    return failed("the {} is not possible ({})", call.text(), detail);
}

}  // namespace plimsoll::engine
