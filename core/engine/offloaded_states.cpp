// SPDX-License-Identifier: Apache-2.0
#include "core/engine/offloaded_states.h"

#include "core/engine/host_values.h"

namespace plimsoll::engine {

namespace {

c10::StorageImpl* storage_of(const torch::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

/// The tensor's memory, which it has no longer.
at::DataPtr take_memory(const torch::Tensor& tensor) {
    c10::StorageImpl* const storage = storage_of(tensor);
    at::DataPtr memory = storage->set_data_ptr(at::DataPtr(nullptr, tensor.device()));
    storage->set_nbytes(std::size_t{0});
    return memory;
}

void give_memory(const torch::Tensor& tensor, Bytes bytes) {
    c10::StorageImpl* const storage = storage_of(tensor);
    storage->set_data_ptr_noswap(storage->allocator()->allocate(static_cast<std::size_t>(bytes)));
    storage->set_nbytes(static_cast<std::size_t>(bytes));
}

}  // namespace

Result<std::unique_ptr<StateStore>> OffloadedStates::create(const std::filesystem::path& folder) {
    auto file = AsyncFile::create(folder);
    if (!file) return tl::unexpected(file.error());
    return std::unique_ptr<StateStore>(new OffloadedStates(std::move(*file)));
}

Result<void> OffloadedStates::add(std::size_t part, const torch::Tensor& state) {
    const auto bytes = static_cast<Bytes>(state.nbytes());
    const auto offset = file_->reserve(bytes);
    if (!offset) return tl::unexpected(offset.error());
    if (parts_.size() <= part) parts_.resize(part + 1);
    parts_[part].states.push_back({state, bytes, *offset});
    write_away(parts_[part].states.back());
    // The states are made one after the other faster than they are written.
    return file_->finish();
}

void OffloadedStates::write_away(State& state) {
    const auto memory = std::make_shared<at::DataPtr>(take_memory(state.tensor));
    file_->write(memory->get(), state.bytes, state.offset, [memory] { memory->clear(); });
}

void OffloadedStates::start_reading(Part& part) {
    if (part.here) return;
    part.here = true;
    for (State& state : part.states) {
        give_memory(state.tensor, state.bytes);
        part.reading = file_->read(storage_of(state.tensor)->mutable_data(), state.bytes, state.offset);
    }
}

Result<void> OffloadedStates::acquire(std::size_t part) {
    if (part >= parts_.size()) return {};
    if (ahead_ != 0 && ahead_ != part) {
        // It was skipped. What was read is what the file holds.
        Part& skipped = parts_[ahead_];
        if (auto read = file_->wait_for(skipped.reading); !read) return read;
        for (State& state : skipped.states) take_memory(state.tensor);
        skipped.here = false;
    }
    ahead_ = 0;
    start_reading(parts_[part]);
    if (auto read = file_->wait_for(parts_[part].reading); !read) return read;
    if (part + 1 < parts_.size()) {
        ahead_ = part + 1;
        start_reading(parts_[ahead_]);
    }
    return {};
}

void OffloadedStates::release(std::size_t part) {
    if (part >= parts_.size()) return;
    for (State& state : parts_[part].states) write_away(state);
    parts_[part].here = false;
}

namespace {

/// A dry run's: memory comes and goes as it does with a file, and there is nothing to write.
class AccountedStates final : public StateStore {
public:
    Result<void> add(std::size_t part, const torch::Tensor& state) override {
        if (parts_.size() <= part) parts_.resize(part + 1);
        parts_[part].states.emplace_back(state, static_cast<Bytes>(state.nbytes()));
        take_memory(state);
        return {};
    }
    Result<void> acquire(std::size_t part) override {
        for (const std::size_t each : {part, part + 1}) {
            if (each >= parts_.size() || parts_[each].here) continue;
            for (const auto& [tensor, bytes] : parts_[each].states) give_memory(tensor, bytes);
            parts_[each].here = true;
        }
        return {};
    }
    void release(std::size_t part) override {
        if (part >= parts_.size() || !parts_[part].here) return;
        for (const auto& [tensor, bytes] : parts_[part].states) take_memory(tensor);
        parts_[part].here = false;
    }

private:
    struct Part {
        std::vector<std::pair<torch::Tensor, Bytes>> states;
        bool here = false;
    };
    std::vector<Part> parts_;
};

}  // namespace

Result<std::unique_ptr<StateStore>> make_state_store(const Layout& layout, torch::Device device) {
    if (layout.offload_optimizer == Offload::Nvme) {
        if (device.is_meta()) return std::make_unique<AccountedStates>();
        return OffloadedStates::create(layout.nvme_path);
    }
    if (layout.offload_optimizer == Offload::Cpu && !on_cpu(device)) return std::make_unique<HostStates>();
    return nullptr;
}

}  // namespace plimsoll::engine
