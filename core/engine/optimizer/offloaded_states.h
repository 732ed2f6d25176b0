// SPDX-License-Identifier: Apache-2.0
// Optimizer states, and shards of parameters, on a drive (ZeRO-Infinity, Rajbhandari et al. 2021, section 5.2.2).
#pragma once

#include <memory>
#include <vector>

#include "core/engine/optimizer/async_file.h"
#include "core/engine/optimizer/state_store.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// What acquire() reads beside the part that is asked for.
enum class ReadAhead { Next, Nothing };

/// One file a rank. While a part is updated the next one is read (ReadAhead::Next) and the one before is written: at
/// most three parts have memory. Room for all is taken when the states are added.
class OffloadedStates final : public StateStore {
public:
    static Result<std::unique_ptr<StateStore>> create(const std::filesystem::path& folder, ReadAhead ahead,
                                                      std::string what);

    Result<void> add(std::size_t part, const torch::Tensor& state) override;
    Result<void> acquire(std::size_t part) override;
    void release(std::size_t part) override;
    void drop(std::size_t part) override;
    void prefetch(std::size_t part) override;

private:
    struct State {
        torch::Tensor tensor;
        Bytes bytes = 0;
        std::uint64_t offset = 0;
    };
    struct Part {
        std::vector<State> states;
        bool here = false;          ///< has memory, read or being read
        std::uint64_t reading = 0;  ///< number of the last read
    };

    OffloadedStates(std::unique_ptr<AsyncFile> file, ReadAhead ahead)
        : reads_ahead_(ahead == ReadAhead::Next), file_(std::move(file)) {}
    void start_reading(Part& part);
    void write_away(State& state);

    std::vector<Part> parts_;
    bool reads_ahead_;
    std::size_t ahead_ = 0;  ///< the part that is read ahead of its use; 0: none, for nobody reads ahead to the first
    std::unique_ptr<AsyncFile> file_;  ///< ends first: it still reads into the tensors
};

/// A dry run's: memory comes and goes as it does with a file, and there is nothing to write.
std::unique_ptr<StateStore> accounted_states(ReadAhead ahead);

/// The store that the layout asks for an optimizer's states: null where states stay on the device, as they do with
/// offloading to the CPU on a CPU.
Result<std::unique_ptr<StateStore>> make_state_store(const Layout& layout, torch::Device device);

}  // namespace plimsoll::engine
