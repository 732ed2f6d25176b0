// SPDX-License-Identifier: Apache-2.0
// A dry run's figures for a person.
#pragma once

#include <string>

#include "core/base/json.h"

namespace plimsoll::cli {

/// `figures` come from run_dry(), with "stage" and "stage_ranks" of each rank, and on a GPU with its "estimate": the
/// closed form's bytes "live", "reserved" and "total".
std::string dry_run_report(const Json& figures);

}  // namespace plimsoll::cli
