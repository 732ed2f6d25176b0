// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/telemetry/reader.h"
#include "core/telemetry/series_store.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::InputFile input(data, size);
    TelemetryReader reader(input.path());
    SeriesStore store;
    for (int i = 0; i < 1000; ++i) {
        const auto batch = reader.poll();
        if (!batch) {
            fuzz::expect_sentence(batch.error());
            return 0;
        }
        store.apply(*batch);
        if (reader.at_end()) break;
    }
    (void)store.last_step();
    return 0;
}
