// SPDX-License-Identifier: Apache-2.0
// A dry run's figures for a person.
#pragma once

#include <string>

#include "core/base/json.h"

namespace plimsoll::cli {

/// Of what run_dry() gave, with "stage" and "stage_ranks" of each rank.
std::string dry_run_report(const Json& figures);

}  // namespace plimsoll::cli
