// SPDX-License-Identifier: Apache-2.0
// What a run records and tells: each step's figures, and its events with a sentence for a person.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/ranks/accelerator.h"
#include "core/engine/ranks/mesh.h"
#include "core/engine/train/recorder.h"
#include "core/engine/train/step_memory.h"
#include "core/engine/train/step_record.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

class Reporter {
public:
    /// What it is given has to outlive it. `accelerator` is null on CPUs.
    Reporter(const Plan& plan, const Mesh& mesh, Recorder& recorder, Accelerator* accelerator)
        : plan_(plan), mesh_(mesh), recorder_(recorder), accelerator_(accelerator) {}

    /// An event of the whole run: rank 0 records it and prints its sentence.
    Result<void> tell(std::int64_t step, EventKind kind, const std::string& sentence, Json details = Json::object());

    /// In this rank's record, with what is recorded next: a damaged declaration is mended by it.
    void declare_series_again() { recorder_.declare_again(); }

    /// A step's figures: this rank's own, and on rank 0 the run's, with a line in the log now and then. `noise_scale`:
    /// where this step measured it.
    Result<void> record(const StepRecord& step, std::optional<double> noise_scale);
    /// What this rank's list of operations took in a step, for those who draw it. `several_chunks`: a rank holds more
    /// than one part of the model.
    Result<void> record_pipeline(std::int64_t step, const std::vector<OpTime>& times, bool several_chunks);
    /// What a step of this rank kept in memory, kind by kind, for those who lay it beside an estimate. `updates`: made
    /// so far.
    Result<void> record_memory(std::int64_t updates, const StepMemory& memory);
    /// Rank 0 alone records it.
    Result<void> record_validation(std::int64_t updates, double loss, std::int64_t sequences);
    /// Whether the norms of the layers and a pipeline's operations of this step are recorded.
    bool looks_closer(std::int64_t step) const;

private:
    Result<void> log(std::int64_t step, const std::string& text);
    Result<void> log_step(const StepRecord& step);
    double tokens_per_second(const StepRecord& step) const;
    bool first_rank() const { return mesh_.world().rank() == 0; }
    Bytes memory(bool peak) const;
    void add_figures_of_run(const StepRecord& step, std::optional<double> noise_scale,
                            std::vector<std::pair<std::string, double>>& values) const;

    const Plan& plan_;
    const Mesh& mesh_;
    Recorder& recorder_;
    Accelerator* accelerator_;
    bool log_lost_ = false;  ///< and told
};

}  // namespace plimsoll::engine
