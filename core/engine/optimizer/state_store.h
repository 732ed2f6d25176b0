// SPDX-License-Identifier: Apache-2.0
// Where tensors wait between uses outside the memory of the computation: an optimizer's states and ZeRO-3's shards of
// parameters.
#pragma once

#include <torch/torch.h>

#include <utility>

#include "core/base/result.h"

namespace plimsoll::engine {

/// States are fp32 or byte tensors in host memory. Each state belongs to a part of the optimizer's list; parts are
/// mostly used in the order of the list.
class StateStore {
public:
    virtual ~StateStore() = default;
    /// Takes a state over with its contents. Shape and dtype stay; the state has memory only while its part is held.
    /// Views of the state stay valid.
    virtual Result<void> add(std::size_t part, const torch::Tensor& state) = 0;
    /// The part's states have memory and contents.
    virtual Result<void> acquire(std::size_t part) = 0;
    /// Ends the use of the part; the contents of its states are kept, changed or not. An error shows in the next
    /// acquire().
    virtual void release(std::size_t part) = 0;
    /// In place of release() where nothing was changed: nothing has to be moved.
    virtual void drop(std::size_t part) { release(part); }
    /// Starts the transfer that the next acquire() of the part would wait for.
    virtual void prefetch(std::size_t) {}
    /// Whether the store takes an optimizer's states; false for a store that only watches which part is used.
    virtual bool takes_states() const { return true; }
};

/// States that stay in host memory. For an accelerator's optimizer that is what offloading to the CPU means.
class HostStates final : public StateStore {
public:
    Result<void> add(std::size_t, const torch::Tensor&) override { return {}; }
    Result<void> acquire(std::size_t) override { return {}; }
    void release(std::size_t) override {}
};

/// The states of a part may be used while a HeldStates lives. With a null store, states are always in memory.
class HeldStates {
public:
    static constexpr bool must_be_kept = true;  ///< PLIMSOLL_CHECK would release the states at once
    static Result<HeldStates> hold(StateStore* store, std::size_t part) {
        if (store != nullptr) {
            PLIMSOLL_CHECK(store->acquire(part));
        }
        return HeldStates(store, part);
    }
    ~HeldStates() {
        if (store_ != nullptr) store_->release(part_);
    }
    HeldStates(HeldStates&& other) noexcept : store_(std::exchange(other.store_, nullptr)), part_(other.part_) {}
    HeldStates& operator=(HeldStates&&) = delete;

private:
    HeldStates(StateStore* store, std::size_t part) : store_(store), part_(part) {}
    StateStore* store_;
    std::size_t part_;
};

}  // namespace plimsoll::engine
