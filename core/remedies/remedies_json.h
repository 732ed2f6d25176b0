// SPDX-License-Identifier: Apache-2.0
// Remedies as JSON.
#pragma once

#include "core/remedies/remedies.h"

namespace plimsoll {

/// "why", "remedies" and "set" of `plimsoll estimate --json`.
Json to_json(const Remedies& remedies);

}  // namespace plimsoll
