// SPDX-License-Identifier: Apache-2.0
// Large binary files and tensors: what either may throw becomes an error.
#pragma once

#include <torch/torch.h>

#include "core/base/file_io.h"
#include "core/base/result.h"

namespace plimsoll::engine {

/// Runs `work`; what LibTorch or the standard library throws becomes an error "cannot {task}: …".
template <class Work>
auto without_exceptions(const std::string& task, Work&& work) -> decltype(work()) {
    try {
        return work();
    } catch (const c10::Error& error) {
        return failed("cannot {}: {}", task, error.what_without_backtrace());
    } catch (const std::bad_alloc&) {
        return failed("cannot {}: memory ran out", task);
    } catch (const std::exception& error) {
        return failed("cannot {}: {}", task, error.what());
    }
}

}  // namespace plimsoll::engine
