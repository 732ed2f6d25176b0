// SPDX-License-Identifier: Apache-2.0
// The terms of one rank under each framework, and helpers that several frameworks share. Used by estimate_under only.
#pragma once

#include <string>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/frameworks/architecture.h"
#include "core/frameworks/layer_tensors.h"

namespace plimsoll::framework_terms {

/// The memory that the framework allocates: weights, gradients, masters, moments, activations, logits, buffers,
/// workspaces. estimate_under adds the overhead.
std::vector<Term> megatron(const Workload& work, const StageShare& stage);
std::vector<Term> torchtitan(const Workload& work, const StageShare& stage);
std::vector<Term> hf_trainer(const Workload& work, const StageShare& stage);
/// What waits in host memory; empty without offload.
std::vector<Term> megatron_host(const Workload& work, const StageShare& stage);
std::vector<Term> torchtitan_host(const Workload& work, const StageShare& stage);

/// Builds a list of terms.
class TermList {
public:
    void add(std::string key, std::string name, Category category, Count bytes, std::string formula,
             std::string source) {
        terms_.push_back(
            {std::move(key), std::move(name), category, bytes.value(), std::move(formula), std::move(source)});
    }
    /// The step of the optimizer: `needs` beyond what is free by then (activations, logits and buffers, but for
    /// `stays`). To be added last.
    void add_step(Count needs, Count stays, const std::string& text, std::string source);
    std::vector<Term> take() { return std::move(terms_); }

private:
    std::vector<Term> terms_;
};

/// "2 B × 1,000 / 8".
std::string per_parameter(double bytes, Count parameters, std::int64_t ranks = 1);

/// factor x count in whole bytes; capped at the largest count like Count's own products.
Count scaled(double factor, Count count);

/// Bytes of an optimizer's moments a parameter (Adafactor's factors are next to nothing: 0), with `each` bytes a moment
/// that is not in 8 bits.
double moment_bytes(const Workload& work, std::int64_t each = 4);
/// `trained` parameters of a rank's optimizer, whose largest tensor is its part of the embedding or of an MLP's matrix.
SteppedTensors stepped_tensors(const Workload& work, const StageShape& shape, Count trained);
/// Numbers in the adapters of all layers.
Count adapter_parameters(const Workload& work);
std::int64_t bytes_of(const Workload& work);

/// Activations that `stage` keeps for its backward passes under the layout's recomputation, with one layer's share
/// written out.
struct KeptActivations {
    Count bytes;
    Count layer;  ///< one layer of the kind that keeps most
    Count again;  ///< activations that one layer computes again in its backward pass
    std::string text;
};
KeptActivations kept_activations(const Workload& work, const StageShare& stage);

/// The gradients and outputs that one layer's backward holds at its peak beyond what it kept.
Count layer_backward(const Workload& work);

/// Inputs and outputs of embedding and final norm of one micro-batch.
Count end_activations(const Workload& work, const StageShare& stage);

/// Logits of one micro-batch on this rank, in elements.
Count logit_elements(const Workload& work);

}  // namespace plimsoll::framework_terms
