// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_notes.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/telemetry/contract/own_files.h"

namespace plimsoll {

namespace {

std::filesystem::path notes_file(const RunLayout& run) { return run.run() / "notes.json"; }

std::string text_of(const Json& json, const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

Result<void> require_text(const std::string& text, const char* what, std::size_t most) {
    if (text.size() > most) return bad_input("the {} has {} bytes; {} are kept at most", what, text.size(), most);
    if (!valid_utf8(text)) return bad_input("the {} is not UTF-8 text", what);
    return {};
}

}  // namespace

RunNotes read_run_notes(const RunLayout& run) {
    RunNotes notes;
    const auto json = read_json(notes_file(run), 1 * MiB);
    if (!json || !json->is_object()) return notes;
    notes.title = text_of(*json, "title");
    notes.note = text_of(*json, "note");
    if (json->contains("tags") && (*json)["tags"].is_array()) {
        for (const Json& tag : (*json)["tags"]) {
            if (tag.is_string()) notes.tags.push_back(tag.get<std::string>());
        }
    }
    return notes;
}

Result<void> write_run_notes(const RunLayout& run, const RunNotes& notes) {
    PLIMSOLL_CHECK(require_text(notes.title, "name", most_title_bytes));
    PLIMSOLL_CHECK(require_text(notes.note, "note", most_note_bytes));
    for (const std::string& tag : notes.tags) {
        PLIMSOLL_CHECK(require_text(tag, "tag", most_title_bytes));
    }
    return write_json(notes_file(run), Json{{"title", notes.title}, {"tags", notes.tags}, {"note", notes.note}});
}

std::vector<std::string> tags_of(const std::string& text) {
    std::vector<std::string> tags;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(',', from), text.size());
        std::string tag = text.substr(from, to - from);
        tag.erase(0, tag.find_first_not_of(" \t\n"));
        tag.erase(tag.find_last_not_of(" \t\n") + 1);
        if (!tag.empty() && std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(std::move(tag));
        from = to + 1;
    }
    return tags;
}

}  // namespace plimsoll
