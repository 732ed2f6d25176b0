// SPDX-License-Identifier: Apache-2.0
// What kind of failure an exception of LibTorch is, by its type.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace plimsoll::engine {

enum class Failure : std::uint8_t {
    OutOfMemory,  ///< of the device or the host
    Device,       ///< c10::AcceleratorError: a kernel that cannot run, an illegal access, a device that is gone
    Store,        ///< c10::DistStoreError, DistNetworkError: the store, or the network to it
    Backend,      ///< c10::DistBackendError: NCCL
    Other,
};

Failure failure_of(const std::exception& error);

/// `detail` with its cure.
std::string out_of_memory_sentence(const std::string& detail);

/// The first line of the text, without LibTorch's C++ stack; of running out of memory with its cure.
std::string sentence_of(const std::exception& error);

}  // namespace plimsoll::engine
