// SPDX-License-Identifier: Apache-2.0
// What a run records, and how it lies on disk: append-only files that survive any crash.
//
// File = 8-byte magic "PLMSREC1", then frames. Frame = u32 payload length, u32 CRC-32C of the payload, payload
// (little-endian). Payload = u8 type, then the body:
//   1 Series  u16 id, u16 name length, name, u16 unit length, unit
//   2 Points  u64 step, f64 wall-clock seconds since the epoch, u16 count, count x (u16 series id, f64 value)
//   3 Event   u64 step, f64 wall-clock seconds, JSON text: {"kind": …, "sentence": …, …}
// A torn tail is left alone by readers and cut by a writer that continues the file; a damaged frame in mid-file is
// passed over. A payload has 1 MiB at most, a series name 256 bytes.
//
// Fork: a run that resumes from an earlier checkpoint records its steps again, in the same file. A reader drops what it
// held of this file at and after a step that is lower than the one before it (TelemetryBatch::fork).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/contract/series.h"

namespace plimsoll {

struct Point {
    std::uint64_t step = 0;
    double time = 0;   ///< seconds since the epoch
    double value = 0;  ///< NaN and infinities are recorded as they are
};

struct Event {
    std::uint64_t step = 0;
    double time = 0;
    RecordedKind kind;
    std::string sentence;           ///< for a person; "" of events for those who draw
    Json details = Json::object();  ///< contract/event_contents.h says what each kind holds
};

}  // namespace plimsoll
