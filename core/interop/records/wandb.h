// SPDX-License-Identifier: Apache-2.0
// A run as Weights & Biases keeps it offline, for `wandb sync`.
#pragma once

#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/interop/records/records_export.h"

namespace plimsoll {

struct WandbRun {
    std::string name;  ///< shown to a person
    std::string project = "plimsoll";
    Json config = Json::object();  ///< an object: W&B's config of the run
    double started = 0;            ///< seconds since the epoch
};

/// Eight letters and digits, the same for the same run.
std::string wandb_id(const WandbRun& run);

/// "offline-run-20260102_030405-ID/run-ID.wandb", where `wandb sync` looks for it; the time is UTC.
std::string wandb_file(const WandbRun& run);

/// The contents of that file: records (wandb/proto/wandb_internal.proto) of the run, its history step by step (values
/// that are not finite in W&B's own words for them), the last values as its summary, and the run's end. The first error
/// of the sink ends the export.
Result<void> export_wandb(const SeriesStore& store, const WandbRun& run, const RecordSink& sink);

}  // namespace plimsoll
