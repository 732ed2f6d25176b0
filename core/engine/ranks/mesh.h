// SPDX-License-Identifier: Apache-2.0
// The ranks as a grid (pp, dp, cp, tp), and the groups along its axes.
#pragma once

#include <memory>
#include <vector>

#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/message_links.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Tensor-parallel ranks are neighbours, then context-, data- and pipeline-parallel ones (Megatron-LM's order
/// "tp-cp-dp-pp"): ranks that communicate most are closest. Expert-parallel ranks are neighbours among the
/// data-parallel ones.
struct MeshPosition {
    int pp = 0, dp = 0, cp = 0, tp = 0;
    bool operator==(const MeshPosition&) const = default;
};

MeshPosition position_of(const Layout& layout, int rank);

/// The groups that one rank belongs to. A group of one rank needs no network.
class Mesh {
public:
    /// `world` must have as many ranks as the plan's layout and must outlive the mesh.
    static Result<std::unique_ptr<Mesh>> make(const Plan& plan, Collectives& world);
    /// The mesh of a single rank, for models that are only inspected.
    static std::unique_ptr<Mesh> alone();

    const MeshPosition& position() const { return position_; }

    Collectives& world() const { return *world_; }
    Collectives& tensor() const { return *tensor_; }
    Collectives& context() const { return *context_; }
    Collectives& pipeline() const { return *pipeline_; }
    /// Messages between the ranks of pipeline() that hold neighbouring stages.
    const MessageLinks& pipeline_links() const { return pipeline_links_; }
    /// Ranks with the same weights: the data- and context-parallel ones. Gradients are averaged over this group.
    Collectives& data() const { return *data_; }
    /// Ranks that share out the experts of a layer.
    Collectives& expert() const { return *expert_; }
    /// Ranks with the same experts.
    Collectives& expert_data() const { return *expert_data_; }
    /// Tensor-parallel ranks with the same key-value head.
    Collectives& shared_heads() const { return *shared_heads_; }
    /// The pipeline ranks of the first and the last stage; alone for the others.
    Collectives& ends() const { return *ends_; }

private:
    Mesh() = default;

    MeshPosition position_;
    Collectives* world_ = nullptr;
    std::unique_ptr<Collectives> alone_;  ///< the world of alone()
    std::unique_ptr<Collectives> tensor_, context_, pipeline_, data_, expert_, expert_data_, shared_heads_, ends_;
    MessageLinks pipeline_links_;
};

}  // namespace plimsoll::engine
