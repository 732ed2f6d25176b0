// SPDX-License-Identifier: Apache-2.0
// Sizes of a distributed model's gradients: norms, AdaGC's clip by tensor, and the samples of the noise scale.
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

/// Looks at gradients between the last backward and the update. Every rank has to make the same calls. Owns the averages
/// of AdaGC; the arguments must outlive the object.
class GradientSizes {
public:
    GradientSizes(const ModelStages& stages, const RankParameters& parameters, PartSums& sums)
        : stages_(stages), parameters_(parameters), sums_(sums) {}

    /// Norms over the whole model, the same on every rank. Gradients count `inv_scale` times.
    Result<GradientNorms> norms(double inv_scale) const;

    /// Under optimizer.clip_rule adagc: starts new averages. Does nothing under other rules.
    void start_clip_by_tensor(const Optimizer& settings);
    /// Under optimizer.clip_rule adagc: clips each gradient of this step in place. Does nothing under other rules.
    /// `global_norm` must be finite; `inv_scale` is the factor that the update multiplies gradients with.
    Result<void> clip_by_tensor(double inv_scale, double global_norm);
    /// The averages for a checkpoint, one tensor [1] per parameter ("adagc/NAME"), and the reverse.
    void add_averages(std::vector<TensorPart>& parts) const;
    Result<void> load_averages(const std::map<std::string_view, torch::Tensor>& by_name, std::int64_t updates);

    /// Turns the measurement for the noise scale on before a step and off after it.
    void measure_noise(bool on);
    /// To be called before each backward.
    void before_backward();
    /// Squared gradient norms of a part of the step's batch and of the whole batch (sizes in tokens), over all matrices
    /// but the experts'. The same on every rank.
    Result<std::pair<NormSample, NormSample>> noise_samples(double inv_scale) const;

private:
    bool sharded() const { return stages_.plan().layout.zero_stage >= 1; }

    const ModelStages& stages_;
    const RankParameters& parameters_;
    PartSums& sums_;
    std::optional<AdaGc> tensor_clip_;  ///< by parameter
    bool measures_noise_ = false;
    std::int64_t backwards_ = 0;  ///< backwards of the step that is measured
};

}  // namespace plimsoll::engine
