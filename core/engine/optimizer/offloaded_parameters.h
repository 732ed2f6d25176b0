// SPDX-License-Identifier: Apache-2.0
// ZeRO-3's shards of parameters in host memory or on a drive (ZeRO-Infinity, Rajbhandari et al. 2021, section 5.1.1):
// only gathered units are on the device.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/engine/optimizer/state_store.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// The store of layout.offload_parameters: a part is the shard of a bucket, and an accelerator's shards have memory on
/// it only while they are held. Null when shards stay where they are, as in the host memory of a CPU rank.
Result<std::unique_ptr<StateStore>> make_parameter_store(const Layout& layout, torch::Device device);

/// An optimizer's store for parameters that wait elsewhere: a bucket's shard is held while parts of it are used, one
/// after the other, and its successor is on its way. `states`: of the optimizer's own; null: they stay in memory.
class HeldShards final : public StateStore {
public:
    /// Where part i of the optimizer's list lies. A null store: in memory.
    struct Place {
        StateStore* store = nullptr;
        std::size_t bucket = 0;
        bool operator==(const Place&) const = default;
    };
    HeldShards(std::vector<Place> places, std::unique_ptr<StateStore> states);

    Result<void> add(std::size_t part, const torch::Tensor& state) override;
    Result<void> acquire(std::size_t part) override;
    void release(std::size_t part) override;
    bool takes_states() const override { return states_ != nullptr; }
    /// To be called after the last part: writes the held shard, changed or not, to its place.
    void put_back();

private:
    std::vector<Place> places_;
    std::unique_ptr<StateStore> states_;
    std::optional<Place> held_;
};

}  // namespace plimsoll::engine
