// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_telemetry.h"

namespace plimsoll {

bool RunTelemetry::poll(Bytes limit) {
    records_.look();
    const auto news = records_.poll(limit);
    for (const auto& [rank, batch] : news) store_.apply(batch, rank);
    return !news.empty();
}

}  // namespace plimsoll
