// SPDX-License-Identifier: Apache-2.0
// Parameters that a rank of a pipeline stage holds before anything is sharded over data-parallel ranks.
#pragma once

#include <string>

#include "core/frameworks/workload.h"

namespace plimsoll {

/// Parameters of one layer on one tensor-parallel rank. Latent attention (DeepSeek-V2, section 2.1): every rank holds
/// the low-rank projections; the projections from the low ranks to the heads are split.
struct LayerShape {
    Count dense;    ///< attention, norms, and the MLP where the layer is not routed
    Count routed;   ///< a routed layer without its routed experts: attention, norms, router, shared experts
    Count experts;  ///< this rank's routed experts
    Count encoder;  ///< T5: an encoder layer
};
LayerShape layer_shape(const Workload& work);

struct StageShape {
    Count dense;       ///< everything but the routed experts
    Count experts;     ///< routed experts
    Count embedding;   ///< input embedding and learned positions, part of dense
    Count head;        ///< output head (of a tied head the last stage's copy), part of dense
    Count layer;       ///< the largest layer, experts included
    std::string text;  ///< "2 x 25,755,648 vocabulary + 6 layers x 3,152,384"
    Count total() const { return dense + experts; }
};
StageShape stage_shape(const Workload& work, const StageShare& stage);

/// Width of all queries and of all keys (or values) on one tensor-parallel rank.
Count query_width(const Workload& work);
Count key_width(const Workload& work);

}  // namespace plimsoll
