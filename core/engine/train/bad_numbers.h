// SPDX-License-Identifier: Apache-2.0
// The first tensor of a step that was not finite.
#pragma once

#include <string>

namespace plimsoll::engine {

struct BadNumbers {
    std::string tensor;  ///< a parameter by Hugging Face's name, or "the output of layer 3"
    std::string layer;   ///< "embed", "0" to "L-1", "head"
    bool forward = false;
    bool nan = false;  ///< else infinite
};

}  // namespace plimsoll::engine
