// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/offloaded_parameters.h"

#include <algorithm>

#include "core/engine/memory/host_values.h"
#include "core/engine/memory/memory_scope.h"
#include "core/engine/memory/tensor_memory.h"
#include "core/engine/optimizer/offloaded_states.h"

namespace plimsoll::engine {

namespace {

/// Shards of an accelerator: each has a copy in host memory, and with a file behind it in the file as well.
class AcceleratorShards final : public StateStore {
public:
    explicit AcceleratorShards(std::unique_ptr<StateStore> file) : file_(std::move(file)) {}

    Result<void> add(std::size_t part, const torch::Tensor& shard) override {
        const HostMemoryScope host;
        const bool pinned = !shard.is_meta();
        const auto device = pinned ? torch::Device(torch::kCPU) : shard.device();
        if (parts_.size() <= part) parts_.resize(part + 1);
        Part& one = parts_[part];
        one.device = shard;
        one.bytes = static_cast<Bytes>(shard.nbytes());
        one.host = at::empty(shard.sizes(), shard.options().device(device).pinned_memory(pinned));
        one.host.copy_(shard);
        take_memory(shard);
        return file_ != nullptr ? file_->add(part, one.host) : Result<void>();
    }

    Result<void> acquire(std::size_t part) override {
        Part& one = parts_[part];
        if (one.here) return {};
        if (auto there = from_file(part); !there) return there;
        give_memory(one.device, one.bytes);
        // Host memory with a file behind it is given back at once; other host memory is written next only after a wait
        // for the device.
        one.device.copy_(one.host, /*non_blocking=*/file_ == nullptr);
        if (file_ != nullptr) file_->drop(part);
        one.here = true;
        return {};
    }

    void release(std::size_t part) override {
        Part& one = parts_[part];
        if (auto there = from_file(part); !there) return;  // the error shows in the next acquire()
        one.host.copy_(one.device);
        if (file_ != nullptr) file_->release(part);
        drop(part);
    }

    void drop(std::size_t part) override {
        if (!parts_[part].here) return;
        take_memory(parts_[part].device);
        parts_[part].here = false;
    }

    void prefetch(std::size_t part) override {
        const HostMemoryScope host;
        if (file_ != nullptr) file_->prefetch(part);
    }

private:
    struct Part {
        torch::Tensor device, host;
        Bytes bytes = 0;
        bool here = false;
    };
    Result<void> from_file(std::size_t part) {
        const HostMemoryScope host;
        return file_ != nullptr ? file_->acquire(part) : Result<void>();
    }

    std::unique_ptr<StateStore> file_;  ///< null: host memory
    std::vector<Part> parts_;
};

}  // namespace

Result<std::unique_ptr<StateStore>> make_parameter_store(const Layout& layout, torch::Device device) {
    std::unique_ptr<StateStore> file;
    if (layout.offload_parameters == Offload::None) return nullptr;
    if (layout.offload_parameters == Offload::Nvme && device.is_meta()) {
        file = accounted_states(ReadAhead::Nothing);
    } else if (layout.offload_parameters == Offload::Nvme) {
        auto made = OffloadedStates::create(layout.nvme_path, ReadAhead::Nothing, "the parameters' shards");
        if (!made) return made;
        file = std::move(*made);
    }
    if (on_cpu(device)) return file;
    return std::make_unique<AcceleratorShards>(std::move(file));
}

HeldShards::HeldShards(std::vector<Place> places, std::unique_ptr<StateStore> states)
    : places_(std::move(places)), states_(std::move(states)) {}

Result<void> HeldShards::add(std::size_t part, const torch::Tensor& state) {
    return states_ != nullptr ? states_->add(part, state) : Result<void>();
}

Result<void> HeldShards::acquire(std::size_t part) {
    const Place& place = places_[part];
    if (held_ != place) {
        put_back();
        if (place.store != nullptr) {
            if (auto acquired = place.store->acquire(place.bucket); !acquired) return acquired;
            held_ = place;
            const auto next = std::find_if(places_.begin() + static_cast<std::ptrdiff_t>(part), places_.end(),
                                           [&](const Place& other) { return other != place; });
            if (next != places_.end() && next->store != nullptr) next->store->prefetch(next->bucket);
        }
    }
    return states_ != nullptr ? states_->acquire(part) : Result<void>();
}

void HeldShards::release(std::size_t part) {
    if (states_ != nullptr) states_->release(part);
}

void HeldShards::put_back() {
    if (held_) held_->store->release(held_->bucket);
    held_.reset();
}

}  // namespace plimsoll::engine
