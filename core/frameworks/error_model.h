// SPDX-License-Identifier: Apache-2.0
// How far the truth lies from an estimate, learned from measured peaks.
#pragma once

#include "core/estimate/estimate.h"
#include "core/frameworks/framework.h"

namespace plimsoll {

/// Where 95 of 100 measured peaks lie for such an estimate.
struct Interval {
    Bytes low = 0, high = 0;
};

/// From the quantiles of measured ÷ estimated peak of `plimsoll validate memory` under this framework; Plimsoll's own
/// from its runs on the CPU, where the bytes of tensors are counted, and on a GPU with the width of the others, as
/// none has been measured.
Interval interval_of(Framework framework, Bytes estimate, bool on_gpu);
/// The probability that the peak exceeds `usable`: the share of measured ÷ estimated above usable ÷ estimate, between
/// the quantiles linear in the logarithm, beyond them falling as fast as between the outer two.
double out_of_memory_probability(Framework framework, Bytes estimate, Bytes usable, bool on_gpu);
/// Peaks that the widths come from.
int samples_of(Framework framework, bool on_gpu);

}  // namespace plimsoll
