// SPDX-License-Identifier: Apache-2.0
// Exact parameter counts.
#pragma once

#include <cstdint>

#include "core/plan/model.h"

namespace plimsoll {

/// Parameters by place, each exact to the last one (checked against transformers' own models). Counts beyond int64
/// saturate, so that any model whose fields are in range can be counted.
struct ParameterCounts {
    std::int64_t input_embedding = 0;  ///< vocab x hidden
    std::int64_t output_head = 0;      ///< 0 when tied
    std::int64_t positions = 0;        ///< learned positions, or T5's relative biases
    std::int64_t final_norm = 0;
    std::int64_t attention = 0;        ///< of one (decoder) layer: q, k, v, o with their biases
    std::int64_t mlp = 0;              ///< of one layer: the MLP, or all experts and the router
    std::int64_t expert = 0;           ///< of one expert (part of mlp); 0 when dense
    std::int64_t norms = 0;            ///< of one layer
    std::int64_t cross_attention = 0;  ///< of one T5 decoder layer, with its norm
    std::int64_t layer = 0;            ///< one decoder layer
    std::int64_t encoder_layer = 0;    ///< one T5 encoder layer; 0 otherwise
    std::int64_t total = 0;
};
ParameterCounts count_parameters(const Model& model);

}  // namespace plimsoll
