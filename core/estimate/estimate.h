// SPDX-License-Identifier: Apache-2.0
// Closed-form training memory per rank, term by term. Pure functions of the plan; no LibTorch.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// The six colours of the waterline.
enum class Category { Parameters, Gradients, Optimizer, Activations, Buffers, Overhead };
inline constexpr std::array<std::string_view, 6> category_names{
    "Parameters", "Gradients", "Optimizer + master", "Activations", "Buffers, logits", "CUDA, NCCL, fragmentation"};
inline constexpr std::string_view name_of(Category category) {
    return category_names[static_cast<std::size_t>(category)];
}

/// One line of the breakdown.
struct Term {
    std::string key;   ///< stable name for JSON: "parameters", "master_weights", "adam_moments", …
    std::string name;  ///< for a person
    Category category = Category::Parameters;
    Bytes bytes = 0;
    std::string formula;  ///< symbols, then this plan's own numbers: "2 B × P / tp = 2 × 6,738,415,616 / 1"
    std::string source;   ///< paper, project or measurement
};

/// The ranks of one pipeline stage, which are all alike.
struct RankMemory {
    int stage = 0;
    std::string label;            ///< "Stage 0" or "Every rank"
    std::int64_t ranks = 1;       ///< how many ranks are like this
    std::int64_t layers = 0;      ///< layers held
    std::int64_t parameters = 0;  ///< parameters of the stage's slice before ZeRO
    std::int64_t in_flight = 1;   ///< micro-batches whose activations are alive at the peak, rounded up
    std::int64_t alive = 1;       ///< the same in parts of a micro-batch: the rank's chunks count each
    std::int64_t chunks = 1;      ///< parts of the model that the rank holds
    std::vector<Term> terms;
    Bytes activations_per_layer = 0;  ///< one (decoder) layer, one micro-batch; the mean where some layers recompute
    ByRecompute<Bytes> activations_by_recompute{};  ///< what of(Category::Activations) is in each mode

    Bytes total() const;
    Bytes live() const;      ///< of tensors: torch.cuda.max_memory_allocated
    Bytes reserved() const;  ///< that the caching allocator takes for them: torch.cuda.max_memory_reserved
    Bytes of(Category category) const;
    const Term* find(std::string_view key) const;  ///< nullptr when the plan has no such term
};

/// A rule people quote, beside the exact figure.
struct RuleOfThumb {
    std::string name;     ///< "Model states: 4 N × bytes"
    std::string formula;  ///< with this plan's numbers
    Bytes rule = 0;
    Bytes exact = 0;   ///< the terms it stands for, over all ranks
    std::string note;  ///< where it misleads, with this plan's numbers
};

struct MemoryEstimate {
    std::int64_t parameters = 0;     ///< of the whole model, exact
    std::vector<RankMemory> stages;  ///< one per pipeline stage
    Bytes usable = 0;                ///< of the card (or the rank's share of RAM)
    Bytes host = 0;                  ///< host memory a rank needs for offloaded states (of the stage that needs most)
    std::vector<Term> host_terms;    ///< the terms of `host`
    std::vector<RuleOfThumb> rules;
    /// Settings of the plan that these figures do not follow, or follow under a condition, a sentence each. Plimsoll's
    /// own estimate follows all.
    std::vector<std::string> notes;

    const RankMemory& fullest() const;
    bool fits() const { return fullest().total() <= usable; }
};

/// The closed form, per pipeline stage. Where it comes from: model states ZeRO (Rajbhandari 2020); activations op by op
/// (core/estimate/activations.h, which reproduces Korthikanti 2022); buffers and overhead as each term says. Largest
/// shares are counted where a split does not come out even. Sizes beyond int64 are held at its maximum. Error when the
/// plan is impossible (check_plan) or the GPU is not known.
Result<MemoryEstimate> estimate_memory(const Plan& plan);

}  // namespace plimsoll
