// SPDX-License-Identifier: Apache-2.0
// The parts of a rank's memory, each as terms with formula and source. Used by estimate_memory only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate/activations.h"
#include "core/estimate/estimate.h"
#include "core/estimate/optimizer_step.h"
#include "core/estimate/slice.h"
#include "core/estimate/term_sink.h"

namespace plimsoll {

/// Ranks over which ZeRO shards: data and context parallel ranks hold the same weights (Megatron-LM and torchtitan
/// shard over both); an expert is held by dp x cp / ep of them.
struct Sharding {
    std::int64_t dense = 1;
    std::int64_t experts = 1;
};
Sharding sharding(const Layout& layout);

/// Weights, gradients, masters, moments on the device: ZeRO (Rajbhandari 2020), section 5. A state that is offloaded is
/// a term of 0 B that says where it went.
void model_states(const Plan& plan, const Slice& slice, TermSink& sink);
/// The same states in host memory, with the buffers that move them. Empty without offload.
std::vector<Term> host_states(const Plan& plan, const Slice& slice);

/// What one layer keeps and needs, summed once for a plan.
struct LayerActivations {
    explicit LayerActivations(const Plan& plan);
    ByRecompute<Count> decoder, encoder;  ///< kept, compressed where the plan says so
    ByRecompute<Count> backward;          ///< backward_peak of a decoder layer
    ByRecompute<Count> routed;            ///< what of `decoder` grows with the rows that the experts here get
};

/// Micro-batches alive at a rank's peak, counted in its chunks.
struct InFlight {
    std::int64_t alive = 1;
    std::int64_t chunks = 1;
    std::int64_t micro_batches() const { return (alive + chunks - 1) / chunks; }
};

/// Sizes of a stage's activations in one recomputation mode.
struct StageActivations {
    Count kept;      ///< micro-batches in flight x layers x what a layer keeps; chunks count for their part
    Count a_layer;   ///< of one decoder layer and micro-batch, the mean
    Count largest;   ///< of one layer and micro-batch
    Count layers;    ///< what of it is on the device: all, or two layers' worth with offload_activations
    Count ends;      ///< outside the layers: token ids, positions, embedding dropout, final norm, head input, targets
    Count loss;      ///< last stage: the logits' copies and the ends that are freed before the layers' backward
    Count needed;    ///< one layer's backward, with the gradient of a tied head that waits meanwhile
    Count backward;  ///< what of it goes beyond `loss`
    Count total() const { return layers + ends + backward; }
};
StageActivations stage_activations(const Plan& plan, const LayerActivations& layer, const Slice& slice,
                                   const InFlight& in_flight, Recompute mode);
/// Its `kept` alone.
Count kept_by_layers(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                     Recompute mode);
/// What the rank's layers keep in host memory. Only with offload_activations.
Term host_activations(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight);
/// `stage` as stage_activations gives it for the layout's own recomputation.
void activation_terms(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                      const StageActivations& stage, TermSink& sink);

/// Expert-parallel ranks do not get as many rows each: what the fullest needs beyond its even share. On the CPU, where
/// the bytes of a run are counted, and without expert parallelism there is no such term.
void imbalance_term(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                    TermSink& sink);

/// The logits' copies of one micro-batch, or of one of loss_chunks pieces of it, at their peak (see logits_term).
Count logits_peak(const Plan& plan);
/// Last stage only.
void logits_term(const Plan& plan, std::int64_t in_flight, TermSink& sink);
/// Whose buffers of data parallelism are counted.
enum class EngineBuffers { Plimsoll, DeepSpeed };
/// Buckets and buffers of data, pipeline, sequence and context parallelism.
void communication_buffers(const Plan& plan, const Slice& slice, const StageActivations& stage, EngineBuffers engine,
                           TermSink& sink);
/// All terms of a rank. `loop` is for DeepSpeed alone (deepspeed_step).
void rank_terms(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                EngineBuffers engine, TermSink& sink, std::optional<StepLoop> loop = std::nullopt);
/// estimate_memory with the one engine's buffers and step or the other's.
Result<MemoryEstimate> estimate_with(const Plan& plan, EngineBuffers engine,
                                     std::optional<StepLoop> loop = std::nullopt);

/// CUDA context, NCCL, allocator fragmentation; on the CPU one term of 0 B that says why. `dynamic` is what is
/// allocated and freed each step. `refilled` of the blocks that this leaves are taken by the optimizer's step: the
/// allocator gives cached blocks back before it fails (c10/cuda/CUDACachingAllocator.cpp, release_cached_blocks).
void overhead(const Plan& plan, Count dynamic, TermSink& sink, Count refilled = 0);

std::vector<RuleOfThumb> rules_of_thumb(const Plan& plan, const MemoryEstimate& estimate);

}  // namespace plimsoll
