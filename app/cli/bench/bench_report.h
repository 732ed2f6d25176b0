// SPDX-License-Identifier: Apache-2.0
// The results of a bench, as a table or JSON.
#pragma once

#include "app/cli/bench/bench_measure.h"
#include "core/base/json.h"

namespace plimsoll::cli {

/// The median over rounds of the variant's rate / the first variant's rate in the same round.
double ratio_to_first(const std::vector<Measured>& all, std::size_t variant);
/// Half the range between the quartiles of a variant's step rates, as a share of their median.
double spread_of(const Measured& measured);

std::string bench_table(const std::vector<Variant>& variants, const std::vector<Measured>& all);
Json bench_json(const std::vector<Variant>& variants, const std::vector<Measured>& all);

/// The bucket size to take, or that it makes no difference here.
std::string bucket_advice(const std::vector<Variant>& variants, const std::vector<Measured>& all);

}  // namespace plimsoll::cli
