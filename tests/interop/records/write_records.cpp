// SPDX-License-Identifier: Apache-2.0
// write-records FOLDER: known points as files for TensorBoard, Parquet and W&B, for check_records.py to read with the
// real ones. write-records --small FOLDER: those of some_records.h, as tests/oracles/records has them.
#include <fmt/core.h>

#include <cmath>
#include <string_view>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/interop/records/records_export.h"
#include "core/interop/records/wandb.h"
#include "tests/support/some_records.h"

namespace plimsoll {
namespace {

SeriesStore many_records() {
    SeriesStore store;
    TelemetryBatch batch;
    batch.units[series::loss] = "nats";
    constexpr double odd[] = {NAN, INFINITY, -INFINITY};
    for (std::uint64_t step = 0; step < 1000; ++step) {
        const auto x = static_cast<double>(step);
        batch.points[series::loss].push_back({step, 1.7e9 + x, 5 / (1 + x)});
        if (step % 10 == 0)
            batch.points["grad_norm/layers.0"].push_back({step, 1.7e9 + x, step < 30 ? odd[step / 10] : std::sqrt(x)});
    }
    // More than a group of rows in Parquet has.
    for (std::uint64_t step = 0; step < 140'000; ++step) {
        const auto x = static_cast<double>(step);
        batch.points["tokens"].push_back({step, 1.7e9 + x, x});
    }
    batch.events.push_back({500, 1.7e9 + 500, EventKind::Sample, "In the beginning \xC3\xA9", Json::object()});
    store.apply(batch);
    return store;
}

Result<void> save(const std::filesystem::path& path, const std::function<Result<void>(const RecordSink&)>& write) {
    std::string bytes;
    const auto written = write([&](std::string_view piece) -> Result<void> {
        bytes += piece;
        return {};
    });
    std::filesystem::create_directories(path.parent_path());
    return written.and_then([&] { return write_file_atomic(path, bytes); });
}

Result<void> write_all(const std::filesystem::path& folder) {
    const SeriesStore store = many_records();
    const auto as = [&](RecordFormat format) {
        return [&store, format](const RecordSink& sink) { return export_records(store, format, "run", sink); };
    };
    WandbRun run;
    run.name = "run";
    run.started = 1.7e9;
    // A record over several blocks of the log.
    run.config = {{"model", {{"name", std::string(100'000, 'x')}}}, {"name", "\xC3\xA9"}};
    return save(folder / "events.out.tfevents.0.run", as(RecordFormat::TensorBoard))
        .and_then([&] { return save(folder / "records.parquet", as(RecordFormat::Parquet)); })
        .and_then([&] {
            return save(folder / wandb_file(run),
                        [&](const RecordSink& sink) { return export_wandb(store, run, sink); });
        });
}

Result<void> write_small(const std::filesystem::path& folder) {
    for (const auto& [format, name] :
         {std::pair{RecordFormat::Parquet, "run.parquet"}, std::pair{RecordFormat::Wandb, "run.wandb"}}) {
        const auto saved =
            records_as(format).and_then([&](const auto& bytes) { return write_file_atomic(folder / name, bytes); });
        if (!saved) return saved;
    }
    return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
    const bool small = argc == 3 && std::string_view(argv[1]) == "--small";
    if (argc != 2 && !small) {
        fmt::print(stderr, "usage: write-records [--small] FOLDER\n");
        return 2;
    }
    const auto saved = small ? plimsoll::write_small(argv[2]) : plimsoll::write_all(argv[1]);
    if (!saved) fmt::print(stderr, "{}\n", saved.error().message);
    return saved ? 0 : 1;
}
