// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace plimsoll {

/// The mean of the middle two where their number is even; 0 of none.
double median(std::vector<double> values);

}  // namespace plimsoll
