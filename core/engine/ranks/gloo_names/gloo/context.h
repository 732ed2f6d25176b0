// SPDX-License-Identifier: Apache-2.0
// Names of Gloo that LibTorch's headers say: pointers pass, nothing is looked into (see gloo_names/README.md).
#pragma once

#include <chrono>

namespace gloo {
class Context {
public:
    void setTimeout(std::chrono::milliseconds timeout);
};
}  // namespace gloo
