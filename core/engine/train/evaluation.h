// SPDX-License-Identifier: Apache-2.0
// How good the model is between steps: its loss over the validation set, and text that it writes.
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "core/engine/data/batch.h"
#include "core/engine/data/text_codec.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/ranks/mesh.h"
#include "core/engine/train/rank_agreement.h"
#include "core/engine/train/reporter.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Every rank makes the same calls in the same order. A stop that is asked for cuts them short.
class Evaluation {
public:
    /// What it is given has to outlive it.
    Evaluation(const Plan& plan, const Mesh& mesh, const BatchSource& batches, TextCodec codec, DistributedModel& model,
               Pipeline& pipeline, RankAgreement& ranks, Reporter& reporter)
        : plan_(plan),
          mesh_(mesh),
          batches_(batches),
          codec_(std::move(codec)),
          model_(model),
          pipeline_(pipeline),
          ranks_(ranks),
          reporter_(reporter) {}

    /// After that many updates. Nothing is recorded where the corpus has no validation part, or of a part of it.
    Result<void> validate(std::int64_t updates);
    /// The training.sample_prompt continued.
    Result<void> sample(std::int64_t updates);

private:
    /// [sum of the losses, sequences they are of] of this rank's share, as far as it came.
    Result<torch::Tensor> own_losses();
    /// One rank of each data-parallel one.
    bool speaks_for_data() const {
        return mesh_.position().pp == 0 && mesh_.position().cp == 0 && mesh_.position().tp == 0;
    }

    const Plan& plan_;
    const Mesh& mesh_;
    const BatchSource& batches_;
    const TextCodec codec_;
    DistributedModel& model_;
    Pipeline& pipeline_;
    RankAgreement& ranks_;
    Reporter& reporter_;
};

}  // namespace plimsoll::engine
