// SPDX-License-Identifier: Apache-2.0
// Serves a run's last values on loopback, for Prometheus and readers of its text format (OpenTelemetry's collector is
// one).
#pragma once

#include "core/base/result.h"
#include "core/run/run_folder.h"

namespace plimsoll::cli {

/// Answers http://127.0.0.1:PORT/metrics with values read anew for each request, until Ctrl-C. Port 0 takes a free port
/// and prints it. Error where the port is taken.
Result<void> serve_records(const RunFolder& run, int port);

}  // namespace plimsoll::cli
