// SPDX-License-Identifier: Apache-2.0
// write-records FOLDER: an event file of known points, for check_tensorboard.py to read with the real TensorBoard.
#include <fmt/core.h>

#include <cmath>

#include "core/base/file.h"
#include "core/interop/records_export.h"

int main(int argc, char** argv) {
    using namespace plimsoll;
    if (argc != 2) {
        fmt::print(stderr, "usage: write-records FOLDER\n");
        return 2;
    }
    SeriesStore store;
    TelemetryBatch batch;
    for (std::uint64_t step = 0; step < 1000; ++step) {
        const auto x = static_cast<double>(step);
        batch.points["loss"].push_back({step, 1.7e9 + x, 5 / (1 + x)});
        if (step % 10 == 0) batch.points["grad_norm/layers.0"].push_back({step, 1.7e9 + x, std::sqrt(x)});
    }
    batch.events.push_back({500, 1.7e9 + 500, "sample", "In the beginning \xC3\xA9", Json::object()});
    store.apply(batch);
    std::string bytes;
    const auto written =
        export_records(store, RecordFormat::TensorBoard, "run", [&](std::string_view piece) -> Result<void> {
            bytes += piece;
            return {};
        });
    const auto saved = written.and_then(
        [&] { return write_file_atomic(std::filesystem::path(argv[1]) / "events.out.tfevents.0.run", bytes); });
    if (!saved) fmt::print(stderr, "{}\n", saved.error().message);
    return saved ? 0 : 1;
}
