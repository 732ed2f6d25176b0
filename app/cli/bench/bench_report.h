// SPDX-License-Identifier: Apache-2.0
// What a bench measured, as a table or JSON.
#pragma once

#include "app/cli/bench/bench_measure.h"
#include "core/base/json.h"

namespace plimsoll::cli {

/// Of each round the variant against the first one's run beside it, and of these the median.
double ratio_to_first(const std::vector<Measured>& all, std::size_t variant);
/// Half the range between the quartiles of its steps, as a share of the median.
double spread_of(const Measured& measured);

std::string bench_table(const std::vector<Variant>& variants, const std::vector<Measured>& all);
Json bench_json(const std::vector<Variant>& variants, const std::vector<Measured>& all);

/// The bucket size to take, or that it makes no difference here.
std::string bucket_advice(const std::vector<Variant>& variants, const std::vector<Measured>& all);

}  // namespace plimsoll::cli
