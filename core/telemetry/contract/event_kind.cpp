// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/contract/event_kind.h"

#include <algorithm>

namespace plimsoll {

std::optional<EventKind> event_kind(std::string_view name) {
    const auto* const found =
        std::find_if(event_kinds.begin(), event_kinds.end(), [&](const auto& each) { return each.name == name; });
    return found == event_kinds.end() ? std::nullopt : std::optional(found->kind);
}

RecordedKind RecordedKind::read(std::string name) {
    RecordedKind kind;
    kind.known_ = event_kind(name);
    if (!kind.known_) kind.other_ = std::move(name);
    return kind;
}

}  // namespace plimsoll
