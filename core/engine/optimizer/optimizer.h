// SPDX-License-Identifier: Apache-2.0
// Optimizers over parts of parameters, so that ZeRO and tensor parallelism shard them all alike.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/engine/base/shard.h"
#include "core/engine/optimizer/moment.h"
#include "core/engine/optimizer/state_store.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// A rank's part of a parameter: a range of its rows (dimension 0) or all rows; under tensor parallelism perhaps only
/// some of its columns.
struct OptimizedPart {
    std::string name;
    torch::Tensor parameter;   ///< in the dtype of training; contiguous, written in place; may have no rows
    bool decay = false;        ///< weight decay applies: the whole parameter is a matrix
    std::int64_t rows = 0;     ///< of the whole parameter, over all ranks
    std::int64_t columns = 0;  ///< of the whole parameter: numbers in a row, 1 for a vector
    double lr_multiplier = 1;  ///< of the learning rate of the update
    Shard shard = {};          ///< the slice of the whole parameter that the part is cut from; by itself: all of it
    std::int64_t begin = 0;    ///< where the part begins in the flattened slice
};

/// How half-precision weights are updated.
struct WeightUpdates {
    bool masters = true;                    ///< by an fp32 copy that is cast back; false: bf16 weights are all there is
    Rounding rounding = Rounding::Nearest;  ///< without masters
    std::uint64_t seed = 0;                 ///< of stochastic rounding
};

/// Sums over the ranks that hold the other parts of the same parameters.
class PartSums {
public:
    enum class Over {
        Parts,    ///< all parts of the parameter
        Rows,     ///< the parts with other rows of the same columns
        Columns,  ///< the parts with other columns of the same rows
    };
    virtual ~PartSums() = default;
    /// Every rank calls it with the same parts in the same order. Each tensor belongs to the part of that index in the
    /// optimizer's list, and is summed in place.
    virtual Result<void> sum(Over over, const std::vector<std::pair<std::size_t, torch::Tensor>>& values) = 0;
};

/// Shape of a state tensor: that of the part, one number per row of the part, or one number per column.
enum class StateShape { Part, Rows, Columns };

struct OptimizerState {
    std::string name;
    torch::Tensor tensor;
    std::size_t part = 0;
    StateShape shape = StateShape::Part;
};

/// fp32 parameters are their own masters; bf16 and fp16 ones get an fp32 copy that is updated and cast back, or, pure
/// (WeightUpdates), are widened for the update and rounded after it:
///   nearest     w = bf16(w + u), u the update in fp32
///   stochastic  w = one of the two bf16 numbers about w + u, the nearer one more often (stochastic_rounding.h)
///   kahan       c = bf16(c + u);  w' = bf16(w + c);  c = bf16(c + bf16(w - w'));  w = w'
///               (Zamirai et al. 2020, "Revisiting BFloat16 Training", algorithm 1, with its c's sign turned, as optimi
///               and torchdistX do it); c starts from 0
/// With a store, masters and moments have memory only while their part is updated; for parameters on an accelerator,
/// masters (of fp32 parameters too) and moments are on the host, where the update is computed.
class ShardedOptimizer {
public:
    virtual ~ShardedOptimizer() = default;
    ShardedOptimizer(const ShardedOptimizer&) = delete;
    ShardedOptimizer& operator=(const ShardedOptimizer&) = delete;

    /// One update. gradients[i] is of part i: of its shape, already reduced over the ranks, in fp32 or the parameter's
    /// dtype, and left as it is; an undefined one leaves the part alone, on all ranks that hold some of the parameter.
    /// g' = g x inv_scale x clip_factor, taken in fp32. Advances the step count. Beside the states it needs scratch
    /// space of some MiB. Fails only where `sums` or the store does.
    Result<void> step(const std::vector<torch::Tensor>& gradients, double lr, double inv_scale, double clip_factor);
    std::int64_t steps() const { return steps_; }

    /// For the checkpoint: "master/NAME" (half precision with masters only), "compensation/NAME" (kahan: c) and the
    /// kind's own, such as "exp_avg/NAME". The live tensors are given, except that 8-bit moments are given as fp32
    /// copies; with a store all are copies. Throws where the store fails.
    std::vector<OptimizerState> state() const;
    /// Copies from loaded tensors; error when one is missing, unknown, or has another shape or dtype. On an error
    /// nothing has changed. From what state() gave, training goes on to the bit.
    Result<void> load_state(const std::vector<std::pair<std::string, torch::Tensor>>& state, std::int64_t steps);

protected:
    ShardedOptimizer(std::vector<OptimizedPart> parts, const Optimizer& settings, PartSums* sums,
                     std::unique_ptr<StateStore> store, const WeightUpdates& updates);

    /// Gives a new state of part `index` to the store. make_optimizer() tells of an error.
    torch::Tensor keep(std::size_t index, torch::Tensor state);
    /// Masters and kept states of the part may be read and written while the result lives.
    Result<HeldStates> hold(std::size_t index) const { return HeldStates::hold(store_.get(), index); }

    /// A moment of part `index`, from zeros, given to the store.
    Moment kept_moment(std::size_t index, MomentFormat format);
    void add_moment(const char* kind, std::size_t index, const Moment& moment, std::vector<OptimizerState>& all) const;

    /// The update itself; `factor` is inv_scale x clip_factor, and the step count has advanced.
    virtual Result<void> update(const std::vector<torch::Tensor>& gradients, double lr, double factor) = 0;
    /// The states of part `index` beside its master.
    virtual void add_states(std::size_t index, std::vector<OptimizerState>& states) const = 0;
    virtual void restore(const OptimizerState& own, const torch::Tensor& loaded) { own.tensor.copy_(loaded); }

    const std::vector<OptimizedPart>& parts() const { return parts_; }
    /// Dtype and device in which part `index` is updated.
    torch::TensorOptions wide_options(std::size_t index) const;
    /// Numbers begin..begin+length of part `index` in fp32, to be changed: the master's, or the fp32 parameter's own. Of
    /// a pure weight a copy, which the next call overwrites.
    torch::Tensor weights(std::size_t index, std::int64_t begin, std::int64_t length);
    /// Puts what weights() gave, and the update has changed, into the parameter, while it is in cache. May change
    /// `updated`.
    void set_weights(std::size_t index, std::int64_t begin, torch::Tensor updated);
    /// Whether the part is in half precision and has no master.
    bool is_pure(std::size_t index) const;
    const Optimizer& settings() const { return settings_; }
    double rate(std::size_t index, double lr) const { return lr * parts_[index].lr_multiplier; }
    double weight_decay(std::size_t index) const { return parts_[index].decay ? settings_.weight_decay : 0; }
    Result<void> sum(PartSums::Over over, const std::vector<std::pair<std::size_t, torch::Tensor>>& values);

private:
    friend Result<std::unique_ptr<ShardedOptimizer>> make_optimizer(std::vector<OptimizedPart>, const Optimizer&,
                                                                    PartSums*, std::unique_ptr<StateStore>,
                                                                    const WeightUpdates&);
    bool takes_states() const { return store_ != nullptr && store_->takes_states(); }
    bool is_copy(std::size_t index) const { return !masters_[index].is_alias_of(parts_[index].parameter); }
    std::vector<OptimizerState> states_of(std::size_t index) const;
    void add_compensated(torch::Tensor stored, torch::Tensor updated, torch::Tensor compensation) const;

    std::vector<OptimizedPart> parts_;
    std::unique_ptr<StateStore> store_;
    Result<void> kept_;
    std::vector<torch::Tensor> masters_;       ///< of a pure weight the weight itself
    std::vector<torch::Tensor> compensation_;  ///< c of each part; undefined but for kahan
    torch::Tensor widened_;                    ///< scratch space of pure weights, during a step
    Optimizer settings_;
    PartSums* sums_;
    WeightUpdates updates_;
    std::int64_t steps_ = 0;
};

/// The optimizer of `settings.kind`; each kind's rule and source stand in optimizer_kinds.h. Made after the initial
/// weights are set: masters are copied from the parameters here. `sums` must outlive the optimizer; null: the parts are
/// whole parameters. Without a store all states stay on the parameters' device. Error for a part that is not
/// contiguous, for fp16 without masters, and where the store has no room.
Result<std::unique_ptr<ShardedOptimizer>> make_optimizer(std::vector<OptimizedPart> parts, const Optimizer& settings,
                                                         PartSums* sums, std::unique_ptr<StateStore> store = nullptr,
                                                         const WeightUpdates& updates = {});

}  // namespace plimsoll::engine
