// SPDX-License-Identifier: Apache-2.0
// What the modules of a model share: the plan, and the ranks they are spread over.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "core/engine/base/shard.h"
#include "core/engine/layers/deferred_weights.h"
#include "core/engine/layers/layer_probe.h"
#include "core/engine/ranks/mesh.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct ModelContext {
    const Plan* plan;
    const Mesh* mesh;
    ParameterMemory parameters;
    Recompute recompute = Recompute::None;  ///< of this pipeline stage
    /// Holds back the weight gradients under a schedule that splits the backward pass; null: weight gradients are
    /// computed at once.
    std::shared_ptr<DeferredWeights> deferred;
    /// Looks at the output of each layer, or corrupts it on purpose.
    std::shared_ptr<LayerProbe> probe = std::make_shared<LayerProbe>();

    Collectives& tensor() const { return mesh->tensor(); }
    int tp() const { return mesh->tensor().world_size(); }
    int tp_rank() const { return mesh->tensor().rank(); }
    int cp() const { return mesh->context().world_size(); }
    bool sequence_parallel() const { return plan->layout.sequence_parallel && tp() > 1; }
};

}  // namespace plimsoll::engine
