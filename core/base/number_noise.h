// SPDX-License-Identifier: Apache-2.0
// Numbers without the noise of binary fractions, for files that people read.
#pragma once

#include "core/base/json.h"

namespace plimsoll {

/// 3e-05 for the product of 3e-4 and 0.1, which is 2.9999999999999997e-05 in binary: the number rounded to 15
/// significant digits where that leaves 12 or fewer of 16 or 17, and the number itself otherwise, so that a number which
/// needs all its digits keeps them. The two differ by less than 5e-15 of the number.
double without_noise(double value);

/// The document with every number so.
Json without_noise(Json document);

}  // namespace plimsoll
