// SPDX-License-Identifier: Apache-2.0
// A run's last values on loopback, for Prometheus and what speaks its text format (OpenTelemetry's collector does).
#pragma once

#include "core/base/result.h"
#include "core/run/run_folder.h"

namespace plimsoll::cli {

/// Answers http://127.0.0.1:PORT/metrics, read afresh each time, until Ctrl-C. Port 0 takes a free one, which is said.
/// Error where the port is taken.
Result<void> serve_records(const RunFolder& run, int port);

}  // namespace plimsoll::cli
