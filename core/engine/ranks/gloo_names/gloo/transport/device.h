// SPDX-License-Identifier: Apache-2.0
// Names of Gloo that LibTorch's headers say: pointers pass, nothing is looked into (see gloo_names/README.md).
#pragma once

namespace gloo::transport {
class Device;
class UnboundBuffer;
}  // namespace gloo::transport
