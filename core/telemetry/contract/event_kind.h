// SPDX-License-Identifier: Apache-2.0
// The kinds of events that a run records, with the name of each in the file and the tone in which it is shown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll {

enum class EventKind : std::uint8_t {
    // Of the ranks.
    Start,
    Resume,
    Damaged,  ///< a checkpoint was passed over, or a log cannot be written
    Checkpoint,
    Validation,
    Sample,
    Memory,    ///< what the second step took, without a sentence
    Pipeline,  ///< when the operations of a step ran, without a sentence
    Overflow,
    Nonfinite,
    Spike,  ///< of the gradient norm
    LossSpike,
    Rollback,
    NoiseScale,
    RangeTest,
    Stop,
    End,
    Error,
    // Of the supervisor.
    Supervise,
    StopRequested,
    Stopped,
    Failed,
    Finished,
};

enum class EventTone : std::uint8_t { Neutral, Good, Warning, Bad };

struct EventKindFacts {
    EventKind kind;
    std::string_view name;  ///< as written in the file: never changed
    EventTone tone;
    /// In the list of a run's events. Samples have a place of their own, `memory` and `pipeline` are for drawings, and
    /// the supervisor's start and end are told better by rank 0.
    bool listed;
};

/// In the order of EventKind.
inline constexpr std::array event_kinds{
    EventKindFacts{EventKind::Start, "start", EventTone::Neutral, true},
    EventKindFacts{EventKind::Resume, "resume", EventTone::Neutral, true},
    EventKindFacts{EventKind::Damaged, "damaged", EventTone::Warning, true},
    EventKindFacts{EventKind::Checkpoint, "checkpoint", EventTone::Good, true},
    EventKindFacts{EventKind::Validation, "validation", EventTone::Neutral, true},
    EventKindFacts{EventKind::Sample, "sample", EventTone::Neutral, false},
    EventKindFacts{EventKind::Memory, "memory", EventTone::Neutral, false},
    EventKindFacts{EventKind::Pipeline, "pipeline", EventTone::Neutral, false},
    EventKindFacts{EventKind::Overflow, "overflow", EventTone::Warning, true},
    EventKindFacts{EventKind::Nonfinite, "nonfinite", EventTone::Bad, true},
    EventKindFacts{EventKind::Spike, "spike", EventTone::Bad, true},
    EventKindFacts{EventKind::LossSpike, "loss_spike", EventTone::Bad, true},
    EventKindFacts{EventKind::Rollback, "rollback", EventTone::Warning, true},
    EventKindFacts{EventKind::NoiseScale, "noise_scale", EventTone::Neutral, true},
    EventKindFacts{EventKind::RangeTest, "range_test", EventTone::Neutral, true},
    EventKindFacts{EventKind::Stop, "stop", EventTone::Neutral, true},
    EventKindFacts{EventKind::End, "end", EventTone::Good, true},
    EventKindFacts{EventKind::Error, "error", EventTone::Bad, true},
    EventKindFacts{EventKind::Supervise, "supervise", EventTone::Neutral, false},
    EventKindFacts{EventKind::StopRequested, "stop_requested", EventTone::Neutral, true},
    EventKindFacts{EventKind::Stopped, "stopped", EventTone::Neutral, false},
    EventKindFacts{EventKind::Failed, "failed", EventTone::Bad, true},
    EventKindFacts{EventKind::Finished, "finished", EventTone::Good, false},
};

constexpr const EventKindFacts& facts_of(EventKind kind) { return event_kinds[static_cast<std::size_t>(kind)]; }
constexpr std::string_view name_of(EventKind kind) { return facts_of(kind).name; }
/// Nothing for a word that is no kind of this version.
std::optional<EventKind> event_kind(std::string_view name);

/// The kind of an event that was read: one of EventKind, or a word of another version, which is kept as it is.
class RecordedKind {
public:
    RecordedKind() = default;
    RecordedKind(EventKind kind) : known_(kind) {}  // without `explicit`: an EventKind is one
    static RecordedKind read(std::string name);

    std::optional<EventKind> known() const { return known_; }
    /// As in the file.
    std::string name() const { return known_ ? std::string(name_of(*known_)) : other_; }
    /// A word of another version warns: nobody here can say that it is harmless.
    EventTone tone() const { return known_ ? facts_of(*known_).tone : EventTone::Warning; }
    bool listed() const { return !known_ || facts_of(*known_).listed; }

    bool operator==(const RecordedKind&) const = default;

private:
    std::optional<EventKind> known_;
    std::string other_;
};

/// A step that the guard found to stand out (FindingEvent).
inline bool is_finding(const RecordedKind& kind) {
    return kind == EventKind::Nonfinite || kind == EventKind::Spike || kind == EventKind::LossSpike;
}

namespace detail {
constexpr bool in_order() {
    for (std::size_t i = 0; i < event_kinds.size(); ++i)
        if (static_cast<std::size_t>(event_kinds[i].kind) != i) return false;
    return event_kinds.back().kind == EventKind::Finished;
}
}  // namespace detail
static_assert(detail::in_order(), "event_kinds has one entry for each EventKind, in the same order");

}  // namespace plimsoll
