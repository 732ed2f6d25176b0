// SPDX-License-Identifier: Apache-2.0
// What the engine needs from GPUs. The one implementation is the shared library plimsoll-cuda (core/engine/cuda),
// loaded at run time where a GPU is found, so that the programs start on machines without CUDA. It compiles and links
// wherever the CUDA 13 toolkit is; it has not been run on a GPU yet.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace plimsoll::engine {

class Accelerator {
public:
    virtual ~Accelerator() = default;
    virtual int device_count() const = 0;
    /// "NVIDIA H100 80GB HBM3, 79.1 GiB".
    virtual std::string describe(int device) const = 0;
    /// Makes it this process's device; tensors go to cuda:DEVICE.
    virtual Result<void> select(int device) = 0;
    /// Bytes of tensors on the selected device, by the caching allocator's statistics.
    virtual Bytes memory_now() const = 0;
    virtual Bytes memory_peak() const = 0;
    /// Waits for the selected device's queued work: times and memory figures are true afterwards.
    virtual void synchronize() = 0;
    /// An NCCL group of ranks on the selected devices, connected when this returns; each rank of it calls at the same time.
    /// Its calls share a stream. May throw: collectives.cpp catches.
    virtual c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                           int world_size, Seconds timeout) = 0;
};

/// Loads libplimsoll-cuda.so once: from the program's folder, from ../lib beside it, or from the loader's path. The
/// error says what is missing: the library, a driver, a device. The accelerator lives as long as the program.
Result<Accelerator*> load_accelerator();

/// The symbol by which the library is entered: `Accelerator* plimsoll_accelerator()`. Changes with the interface, so
/// that a library of another version is refused.
inline constexpr const char* accelerator_symbol = "plimsoll_accelerator_1";
using AcceleratorEntry = Accelerator* (*)();

}  // namespace plimsoll::engine
