// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plimsoll {

/// The version of this build, "0.1.0".
const char* version();

}  // namespace plimsoll
