// SPDX-License-Identifier: Apache-2.0
// What is wrong with a DeepSpeed config before it is launched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct DeepSpeedFinding {
    enum class Level {
        Refused,     ///< DeepSpeed raises, when it reads the file or in deepspeed.initialize
        Danger,      ///< accepted, but the run is wrong or fails later
        Ignored,     ///< accepted and without effect
        Deprecated,  ///< right in this release, but an old form that a later one may drop or has dropped
        Note,        ///< worth knowing; no trouble
    };
    Level level = Level::Note;
    std::string rule;      ///< short name, the same for every finding of its kind: "batch-product"
    std::string key;       ///< dotted path in the file; empty: the file as a whole
    std::string sentence;  ///< cause and cure
};
std::string_view level_name(DeepSpeedFinding::Level level);

/// What the file does not say about the run.
struct DeepSpeedLaunch {
    std::int64_t world = 0;  ///< ranks; 0: not known, then the batch is checked as far as it goes without
    std::int64_t tp = 1;
    std::int64_t pp = 1;
    std::int64_t sp = 1;             ///< sequence-parallel ranks
    std::int64_t gpus_per_node = 0;  ///< 0: not known
    std::int64_t parameters = 0;     ///< of the model; 0: not known
    std::string release = "0.19.8";
    bool hugging_face = false;  ///< the Trainer or Accelerate reads the file and fills "auto" in
};

/// Of a run by the plan, for its export.deepspeed_release.
DeepSpeedLaunch deepspeed_launch(const Plan& plan);

/// The batch as DeepSpeed works it out.
struct DeepSpeedBatch {
    std::int64_t train = 0;
    std::int64_t micro = 0;
    std::int64_t accumulation = 0;
};

struct DeepSpeedLint {
    std::vector<DeepSpeedFinding> findings;  ///< the gravest first, else in the order of the rules
    std::optional<DeepSpeedBatch> batch;     ///< nothing where it is refused or depends on a world that is not known
    std::int64_t zero_stage = 0;
    std::int64_t data_parallel = 0;  ///< ranks that share the batch; 0: not known

    /// Whether DeepSpeed takes the file.
    bool accepted() const;
    /// Whether the release trains as the file says: nothing beyond old forms and notes.
    bool clean() const;
    /// Findings that are in the way of that.
    std::size_t troubles() const;
};

/// `what` names the text in errors ("ds.json"). A text in hjson (comments, missing commas), which DeepSpeed reads and
/// others do not, is a finding; any other text that is no JSON, and a world that the ranks do not divide, are errors.
Result<DeepSpeedLint> lint_deepspeed(std::string_view text, const std::string& what, const DeepSpeedLaunch& launch);

/// What people trip over with DeepSpeed (its public issues), and where it is seen.
struct DeepSpeedPitfall {
    int number;
    std::string_view trouble;
    std::string_view rule;   ///< of the findings that report it; empty: not visible in a file
    std::string_view where;  ///< of one that is not visible: where it is to be seen
};
const std::vector<DeepSpeedPitfall>& deepspeed_pitfalls();

Json to_json(const DeepSpeedLint& lint, const DeepSpeedLaunch& launch);

}  // namespace plimsoll
