// SPDX-License-Identifier: Apache-2.0
// From the corpus to token tensors: which sequences this rank trains and validates on.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "core/data/corpus.h"
#include "core/data/sample_order.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Inputs and the tokens that follow them, both [sequences, time] int64.
struct Batch {
    torch::Tensor tokens, targets;
    std::vector<std::uint64_t> samples;  ///< numbers of its sequences in the run; empty in validation
};

/// Entry b of a global batch goes to data-parallel rank b mod n, so any layout trains on the same global batch.
class BatchSource {
public:
    /// The corpus must outlive the source.
    BatchSource(const Corpus& corpus, const Plan& plan, int rank, int world_size, torch::Device device);

    /// Micro-batch `index` of the optimizer step that starts at global sample number `first_sample`.
    Batch micro_batch(std::uint64_t first_sample, std::int64_t index) const;

    /// This rank's share of the validation set: at most 64 sequences, evenly spread, the same ones every time.
    std::vector<Batch> validation() const;
    /// A validation batch that every rank has, whatever the rank's share.
    Batch any_validation() const;
    /// Sequences of the validation set over all ranks; 0 when the corpus has no validation part.
    std::int64_t validation_sequences() const;

private:
    Batch at_offsets(const std::vector<std::size_t>& offsets) const;

    const Corpus& corpus_;
    SampleOrder order_;
    std::int64_t micro_batch_, sequence_length_;
    std::uint64_t rank_, world_size_;
    torch::Device device_;
};

}  // namespace plimsoll::engine
