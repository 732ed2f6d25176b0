// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace plimsoll {

/// The mean of the middle two where the number of values is even; 0 for no values.
double median(std::vector<double> values);

}  // namespace plimsoll
