// SPDX-License-Identifier: Apache-2.0
// How large a distributed model's gradients are: their norms, AdaGC's clip by tensor, and what the noise scale
// compares.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/control/adagc.h"
#include "core/control/batch_rules.h"
#include "core/engine/optimizer/optimizer.h"
#include "core/engine/parallel/gradient_norms.h"
#include "core/engine/parallel/model_stages.h"
#include "core/engine/parallel/rank_parameters.h"
#include "core/engine/ranks/gathered_tensors.h"

namespace plimsoll::engine {

/// Looks at gradients between the last backward and the update. Every rank calls it alike. What it is given outlives
/// it; of its own it has the averages of AdaGC.
class GradientSizes {
public:
    GradientSizes(const ModelStages& stages, const RankParameters& parameters, PartSums& sums)
        : stages_(stages), parameters_(parameters), sums_(sums) {}

    /// Over the whole model, on every rank the same. `inv_scale`: 1 / what the gradients are multiplied by.
    Result<GradientNorms> norms(double inv_scale) const;

    /// Under optimizer.clip_rule adagc: starts its averages anew; nothing otherwise.
    void start_clip_by_tensor(const Optimizer& settings);
    /// Likewise: clips each gradient of this step in place. `global_norm` is finite. As inv_scale, what the gradients
    /// are divided by in the update.
    Result<void> clip_by_tensor(double inv_scale, double global_norm);
    /// The averages for a checkpoint, one number [1] a parameter ("adagc/NAME"), and back.
    void add_averages(std::vector<TensorPart>& parts) const;
    Result<void> load_averages(const std::map<std::string_view, torch::Tensor>& by_name, std::int64_t updates);

    /// Around a step whose gradients are measured for the noise scale.
    void measure_noise(bool on);
    /// Before each backward of such a step.
    void before_backward();
    /// The squared gradient norm of a part of the step's batch and of all of it, batches in tokens, of all matrices but
    /// the experts'; on every rank the same.
    Result<std::pair<NormSample, NormSample>> noise_samples(double inv_scale) const;

private:
    bool sharded() const { return stages_.plan().layout.zero_stage >= 1; }

    const ModelStages& stages_;
    const RankParameters& parameters_;
    PartSums& sums_;
    std::optional<AdaGc> tensor_clip_;  ///< by parameter
    bool measures_noise_ = false;
    std::int64_t backwards_ = 0;  ///< of the step that is measured
};

}  // namespace plimsoll::engine
