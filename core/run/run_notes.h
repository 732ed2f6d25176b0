// SPDX-License-Identifier: Apache-2.0
// What a person wrote about a run: the name that lists show, tags and a note. The folder keeps its own name.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

struct RunNotes {
    std::string title;              ///< shown in place of the folder's name; "": the folder's name
    std::vector<std::string> tags;  ///< in the order in which they were given, each once
    std::string note;               ///< free text
    bool operator==(const RunNotes&) const = default;
};

/// The longest title, tag and note that are kept, in bytes.
inline constexpr std::size_t most_title_bytes = 200;
inline constexpr std::size_t most_note_bytes = 64 * 1024;

/// Empty notes where the run has none or the file cannot be read: they are never worth a run.
RunNotes read_run_notes(const RunLayout& run);
/// Error where a title or a note is too long or no UTF-8, or the folder cannot be written.
Result<void> write_run_notes(const RunLayout& run, const RunNotes& notes);

/// "lr sweep, warm" to two tags; separated by commas, without the empty ones, each once.
std::vector<std::string> tags_of(const std::string& text);

}  // namespace plimsoll
