// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/base/json.h"

namespace plimsoll::fuzz {

InputFile::InputFile(const std::uint8_t* data, std::size_t size) : memory_(::memfd_create("input", MFD_CLOEXEC)) {
    if (memory_.get() < 0 || ::write(memory_.get(), data, size) != static_cast<ssize_t>(size)) std::abort();
    path_ = fmt::format("/proc/self/fd/{}", memory_.get());
}

void expect_sentence(const Error& error) {
    if (error.message.size() > 10 && error.message.size() < 100'000 && valid_utf8(error.message)) return;
    fmt::print(stderr, "no sentence for a person ({} bytes): {}\n", error.message.size(), error.message.substr(0, 500));
    std::abort();
}

}  // namespace plimsoll::fuzz
