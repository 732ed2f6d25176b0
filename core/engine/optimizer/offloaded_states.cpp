// SPDX-License-Identifier: Apache-2.0
#include "core/engine/optimizer/offloaded_states.h"

#include "core/engine/memory/host_values.h"
#include "core/engine/memory/tensor_memory.h"

namespace plimsoll::engine {

Result<std::unique_ptr<StateStore>> OffloadedStates::create(const std::filesystem::path& folder, ReadAhead ahead,
                                                            std::string what) {
    PLIMSOLL_TRY(auto file, AsyncFile::create(folder, std::move(what)));
    return std::unique_ptr<StateStore>(new OffloadedStates(std::move(file), ahead));
}

Result<void> OffloadedStates::add(std::size_t part, const torch::Tensor& state) {
    const auto bytes = static_cast<Bytes>(state.nbytes());
    PLIMSOLL_TRY(const auto offset, file_->reserve(bytes));
    if (parts_.size() <= part) parts_.resize(part + 1);
    parts_[part].states.push_back({state, bytes, offset});
    write_away(parts_[part].states.back());
    // Waits for the write: states are made faster than they are written.
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
        // The part that was read ahead has been skipped. Its memory equals the file and is given back.
        Part& skipped = parts_[ahead_];
        if (auto read = file_->wait_for(skipped.reading); !read) return read;
        for (State& state : skipped.states) take_memory(state.tensor);
        skipped.here = false;
    }
    ahead_ = 0;
    start_reading(parts_[part]);
    if (auto read = file_->wait_for(parts_[part].reading); !read) return read;
    if (reads_ahead_ && part + 1 < parts_.size()) {
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

void OffloadedStates::drop(std::size_t part) {
    if (part >= parts_.size() || !parts_[part].here) return;
    // A read into this memory has to end before the memory goes.
    static_cast<void>(file_->wait_for(parts_[part].reading));  // an error shows in the next acquire()
    for (State& state : parts_[part].states) take_memory(state.tensor);
    parts_[part].here = false;
}

void OffloadedStates::prefetch(std::size_t part) {
    if (part < parts_.size()) start_reading(parts_[part]);
}

namespace {

class AccountedStates final : public StateStore {
public:
    explicit AccountedStates(ReadAhead ahead) : last_ahead_(ahead == ReadAhead::Next ? 1 : 0) {}
    Result<void> add(std::size_t part, const torch::Tensor& state) override {
        if (parts_.size() <= part) parts_.resize(part + 1);
        parts_[part].states.emplace_back(state, static_cast<Bytes>(state.nbytes()));
        take_memory(state);
        return {};
    }
    Result<void> acquire(std::size_t part) override {
        for (std::size_t each = part; each <= part + last_ahead_; ++each) prefetch(each);
        return {};
    }
    void prefetch(std::size_t part) override {
        if (part >= parts_.size() || parts_[part].here) return;
        for (const auto& [tensor, bytes] : parts_[part].states) give_memory(tensor, bytes);
        parts_[part].here = true;
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
    std::size_t last_ahead_;
};

}  // namespace

std::unique_ptr<StateStore> accounted_states(ReadAhead ahead) { return std::make_unique<AccountedStates>(ahead); }

Result<std::unique_ptr<StateStore>> make_state_store(const Layout& layout, torch::Device device) {
    if (layout.offload_optimizer == Offload::Nvme) {
        if (device.is_meta()) return accounted_states(ReadAhead::Next);
        return OffloadedStates::create(layout.nvme_path, ReadAhead::Next, "the optimizer's states");
    }
    if (layout.offload_optimizer == Offload::Cpu && !on_cpu(device)) return std::make_unique<HostStates>();
    return nullptr;
}

}  // namespace plimsoll::engine
