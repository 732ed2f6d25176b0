// SPDX-License-Identifier: Apache-2.0
#include "core/engine/base/failure.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <new>

namespace plimsoll::engine {

namespace {

std::string text_of(const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
    if (const auto line = text.find('\n'); line != std::string::npos) text.resize(line);
    return text;
}

template <class Type>
bool is(const std::exception& error) {
    return dynamic_cast<const Type*>(&error) != nullptr;
}

}  // namespace

Failure failure_of(const std::exception& error) {
    if (is<c10::OutOfMemoryError>(error) || is<std::bad_alloc>(error)) return Failure::OutOfMemory;
    if (is<c10::AcceleratorError>(error)) return Failure::Device;
    if (is<c10::DistBackendError>(error)) return Failure::Backend;
    if (is<c10::DistError>(error)) return Failure::Store;
    // The CPU's allocator throws the type of everything else.
    if (text_of(error).find("can't allocate memory") != std::string::npos) return Failure::OutOfMemory;
    return Failure::Other;
}

std::string out_of_memory_sentence(const std::string& detail) {
    return fmt::format(
        "out of memory: lower layout.micro_batch or data.sequence_length, or set layout.recompute to full ({})",
        detail);
}

std::string sentence_of(const std::exception& error) {
    switch (failure_of(error)) {
        case Failure::OutOfMemory:
            return out_of_memory_sentence(text_of(error));
        case Failure::Device:
            return fmt::format("the accelerator failed: {}", text_of(error));
        case Failure::Store:
        case Failure::Backend:
        case Failure::Other:
            break;
    }
    return text_of(error);
}

}  // namespace plimsoll::engine
