// SPDX-License-Identifier: Apache-2.0
// What events hold beside their sentence, kind by kind. Kinds without a struct hold nothing: damaged, stop, end, error
// and all of the supervisor.
//
// to_json() gives an event's details as they are written. from_json() reads them: members that it does not know are
// passed over, those that are missing or of another type have the default given here, and an error says which member
// an event cannot be without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

/// EventKind::Start.
struct StartEvent {
    std::int64_t parameters = 0;
    std::int64_t trained_parameters = 0;
    std::int64_t world_size = 0;
    std::string dtype, device, corpus;
    Bytes corpus_bytes = 0;
    Bytes train_bytes = 0;
    std::int64_t steps = 0;  ///< as planned
    std::int64_t seed = 0;
    std::int64_t buckets = 0;  ///< of gradients
    std::string host;          ///< of rank 0
    std::int64_t pid = 0;
    std::string version;

    Json to_json() const;
    static Result<StartEvent> from_json(const Json& details);
};

/// EventKind::Resume.
struct ResumeEvent {
    StartEvent start;
    std::int64_t resumed_from = 0;  ///< step of the checkpoint
    std::uint64_t samples = 0;      ///< sequences consumed up to it

    Json to_json() const;
    static Result<ResumeEvent> from_json(const Json& details);
};

/// EventKind::Checkpoint.
struct CheckpointEvent {
    std::string path;  ///< the folder's name under checkpoints/
    Bytes bytes = 0;
    Seconds seconds = 0;  ///< that it took

    Json to_json() const;
    static Result<CheckpointEvent> from_json(const Json& details);
};

/// EventKind::Validation.
struct ValidationEvent {
    double loss = 0;  ///< nats a token; cannot be without

    Json to_json() const;
    static Result<ValidationEvent> from_json(const Json& details);
};

/// EventKind::Sample; the sentence is the text.
struct SampleEvent {
    std::string prompt;
    std::string text;  ///< not written; where a record has it, it is the text in the sentence's place

    Json to_json() const;
    static Result<SampleEvent> from_json(const Json& details);
};

using NamedBytes = std::vector<std::pair<std::string, Bytes>>;
/// 0 where there is no such name.
Bytes bytes_of(const NamedBytes& all, std::string_view name);

/// EventKind::Memory: what the second step of a rank's process took.
struct MemoryEvent {
    std::int64_t rank = 0;
    Bytes peak = 0;  ///< above 0; cannot be without
    Bytes live = 0;  ///< after the step
    /// Of peak and live, kind by kind; of another version of the program they may be missing.
    NamedBytes categories, live_categories;
    /// With experts how many rows each of them got, router by router, so that a dry run can take the same step.
    std::vector<std::vector<std::int64_t>> routing;

    Json to_json() const;
    static Result<MemoryEvent> from_json(const Json& details);
};

/// EventKind::Pipeline: when a rank's operations of a step ran.
struct PipelineEvent {
    struct Op {
        std::string name;            ///< short_name() of core/schedule/op.h
        Seconds start = 0, end = 0;  ///< from the origin
    };
    std::int64_t pp_rank = 0;
    double origin = 0;    ///< seconds since the epoch; cannot be without
    std::vector<Op> ops;  ///< cannot be without, and each whole

    Json to_json() const;
    static Result<PipelineEvent> from_json(const Json& details);
};

/// EventKind::Overflow.
struct OverflowEvent {
    double scale = 0;  ///< loss scale of the step
    double next_scale = 0;

    Json to_json() const;
    static Result<OverflowEvent> from_json(const Json& details);
};

/// EventKind::Nonfinite, Spike and LossSpike: a step that stood out, and what was done about it.
struct FindingEvent {
    /// The first tensor that was not finite.
    struct Place {
        std::string tensor;
        std::string layer;  ///< "embed", "head" or a number
        std::string pass;   ///< "forward" or "backward"
    };
    std::string reason;
    std::string action;                     ///< guard_action_names of core/control/gradient_guard.h
    std::optional<double> loss, grad_norm;  ///< nothing: NaN or infinite, which JSON has no words for
    std::optional<std::uint64_t> samples;   ///< first sequence of the batch
    std::optional<Place> place;
    std::optional<double> lr_factor;  ///< of the schedule's rate from here on, where it was cut

    Json to_json() const;
    static Result<FindingEvent> from_json(const Json& details);
};

/// EventKind::Rollback, where there was a checkpoint to go back to.
struct RollbackEvent {
    std::int64_t from = 0;      ///< step
    std::int64_t to = 0;        ///< step of the checkpoint; cannot be without
    std::uint64_t samples = 0;  ///< first sequence of the batch that is left out

    Json to_json() const;
    static Result<RollbackEvent> from_json(const Json& details);
};

/// EventKind::NoiseScale, where it could be told.
struct NoiseScaleEvent {
    double noise_scale = 0;  ///< in tokens; cannot be without
    double batch_tokens = 0;
    std::int64_t measurements = 0;
    bool bigger_batch_pays = false;

    Json to_json() const;
    static Result<NoiseScaleEvent> from_json(const Json& details);
};

/// EventKind::RangeTest, where a rate was found.
struct RangeTestEvent {
    double steepest = 0;    ///< rate at which the loss fell fastest
    double lowest = 0;      ///< and at which it was lowest
    double suggestion = 0;  ///< cannot be without
    std::optional<double> diverged;

    Json to_json() const;
    static Result<RangeTestEvent> from_json(const Json& details);
};

}  // namespace plimsoll
