// SPDX-License-Identifier: Apache-2.0
// The error of an estimate, learned from measured peaks.
#pragma once

#include "core/estimate/estimate.h"
#include "core/frameworks/framework.h"

namespace plimsoll {

/// The range in which 95 of 100 measured peaks lie for an estimate.
struct Interval {
    Bytes low = 0, high = 0;
};

/// A layout is offered when at least this share of runs with such an estimate would fit.
inline constexpr double default_fit_probability = 0.95;

/// The interval from the quantiles of measured ÷ estimated peak that `plimsoll validate memory` gives for the
/// framework. Plimsoll's quantiles come from its runs on the CPU, where the bytes of tensors are counted. No run on a
/// GPU has been measured: there Plimsoll's interval is as wide as the others'.
Interval interval_of(Framework framework, Bytes estimate, bool on_gpu);
/// The probability that the peak exceeds `usable`: the share of measured ÷ estimated above usable ÷ estimate. Between
/// the quantiles the share is linear in the logarithm; beyond them it falls as fast as between the outer two.
double out_of_memory_probability(Framework framework, Bytes estimate, Bytes usable, bool on_gpu);
/// The number of measured peaks from which the widths come.
int samples_of(Framework framework, bool on_gpu);

}  // namespace plimsoll
