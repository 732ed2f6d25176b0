// SPDX-License-Identifier: Apache-2.0
// The parameters of one rank of the mesh, and the groups of data-parallel ranks that train them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/optimizer/offloaded_parameters.h"
#include "core/engine/parallel/data_parallel.h"
#include "core/engine/parallel/model_stages.h"
#include "core/engine/parallel/zero_gate.h"

namespace plimsoll::engine {

/// A parameter of this rank, once.
struct RankParameter {
    std::string name;  ///< Hugging Face's; of a copy that of the original
    Shard shard;       ///< of the whole tensor; under ZeRO `part` is a range of it
    bool expert = false;
    bool copy = false;
    DataParallel* parallel = nullptr;
    OwnedPart part;  ///< what the optimizer updates, and its gradient
};

/// A parameter that does not train: each data-parallel rank holds the whole of it.
struct FrozenParameter {
    std::string name;
    Shard shard;
    torch::Tensor tensor;
};

/// Owns two data-parallel groups: one for the experts, which has fewer ranks, and one for all other parameters. Under
/// ZeRO-3 the stages gather and free their units through gates that this class owns.
class RankParameters {
public:
    /// `stages` must outlive the object. Throws when memory runs out.
    explicit RankParameters(const ModelStages& stages);
    RankParameters(const RankParameters&) = delete;
    RankParameters& operator=(const RankParameters&) = delete;

    /// Experts come last.
    const std::vector<RankParameter>& all() const { return all_; }
    std::vector<FrozenParameter>& frozen() { return frozen_; }
    bool experts() const { return experts_ != nullptr; }
    /// Tensors and gradients of all(); flat ranges under ZeRO.
    std::vector<torch::Tensor> tensors() const;
    std::vector<torch::Tensor> gradients() const;
    /// Whether this rank counts a parameter that several ranks hold: exactly one of them does. `of_data_group`: also one
    /// of the data-parallel ranks, rather than each (under ZeRO each has another range).
    bool speaks_for(const RankParameter& parameter, bool of_data_group) const;

    /// This rank's slices of the whole tensors, from flat ranges (ZeRO) in the order of all(). Every rank has to call.
    Result<std::vector<torch::Tensor>> slices(const std::vector<torch::Tensor>& ranges) const;
    /// The part of a whole tensor that belongs to this rank.
    torch::Tensor own_range(const RankParameter& parameter, const torch::Tensor& whole) const;
    /// Where each part waits while it is not in use; empty when all parts stay in memory.
    std::vector<HeldShards::Place> places() const;

    // The same calls as DataParallel's, made on both groups.
    /// To be called first: the error also tells of an offload target without room for the parameters.
    Result<void> broadcast();
    void zero_gradients();
    void prepare_backward(bool reduce);
    void reduce_chunk(std::size_t chunk);
    Result<void> finish_backward();
    Result<void> share();
    std::size_t bucket_count() const;
    std::size_t overlapped_buckets() const;
    /// The meter of all parameters but the experts.
    OwnSquares& own_squares() const { return dense_->own_squares(); }

private:
    /// Parameters of one group, and their rows of all().
    struct Group {
        std::vector<ParallelParameter> parameters;
        std::vector<RankParameter> rows;
    };
    void collect(const Decoder& chunk, std::size_t number, std::size_t first_unit, Group& dense, Group& experts);
    DataParallelOptions options() const;
    std::unique_ptr<DataParallel> make_group(const Group& group, Collectives& ranks, DataParallelOptions options);
    void add(DataParallel& parallel, Group& group);
    void make_gates(const std::vector<std::size_t>& first_units);

    const ModelStages& stages_;
    std::unique_ptr<DataParallel> dense_, experts_;  ///< experts_ null: there are none
    std::vector<std::unique_ptr<ZeroGate>> gates_;
    std::vector<RankParameter> all_;
    std::vector<FrozenParameter> frozen_;
    Result<void> placed_;
};

}  // namespace plimsoll::engine
