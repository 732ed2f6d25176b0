// SPDX-License-Identifier: Apache-2.0
// A run's records in other tools' formats.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/telemetry/series_store.h"

namespace plimsoll {

enum class RecordFormat {
    Csv,          ///< series,step,time,value,unit: a line a point
    Jsonl,        ///< an object a line: points, then events
    TensorBoard,  ///< an event file (scalars; the run's events as text)
    Prometheus,   ///< the last value of each series, text exposition format 0.0.4
    Parquet,      ///< columns series, step (int64), time, value (double), unit: a row a point
    Wandb,        ///< an offline run of Weights & Biases (wandb.h)
};
inline constexpr std::array<std::string_view, 6> record_format_names{"csv",        "jsonl",   "tensorboard",
                                                                     "prometheus", "parquet", "wandb"};

/// Takes the next piece of the file.
using RecordSink = std::function<Result<void>(std::string_view piece)>;

/// `run` names the run in Prometheus' labels, in Parquet's metadata and in W&B. Values that are not finite are written
/// as NaN and Infinity (in JSON as strings). The first error of the sink ends the export.
Result<void> export_records(const SeriesStore& store, RecordFormat format, const std::string& run,
                            const RecordSink& sink);

/// A frame of TensorFlow's record format around `event`: u64 length, its masked CRC-32C, the bytes, their masked
/// CRC-32C, all little-endian (tensorflow/core/lib/io/record_writer.cc).
std::string tensorboard_frame(std::string_view event);
/// The event that begins an event file.
std::string tensorboard_header(double time);
/// Scalars of one step as an event (tensorflow/core/util/event.proto, summary.proto).
struct TensorBoardScalar {
    std::string_view tag;
    double value;
};
std::string tensorboard_scalars(std::uint64_t step, double time, const std::vector<TensorBoardScalar>& scalars);
std::string tensorboard_text(std::uint64_t step, double time, std::string_view tag, std::string_view text);

}  // namespace plimsoll
