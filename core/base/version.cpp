// SPDX-License-Identifier: Apache-2.0
#include "core/base/version.h"

namespace plimsoll {

const char* version() { return PLIMSOLL_VERSION; }

}  // namespace plimsoll
