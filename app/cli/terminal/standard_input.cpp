// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal/standard_input.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/file.h"

namespace plimsoll::cli {

namespace {

bool names_output(const std::string& option) {
    return option == "-o" || option == "--out" || option == "--output" || option == "--apply" || option == "--merge";
}

constexpr std::string_view descriptors = "/proc/self/fd/";

}  // namespace

Result<void> StandardInput::replace_in(std::vector<std::string>& arguments, Bytes limit) {
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        if (arguments[i] != "-" || names_output(arguments[i - 1])) continue;
        if (path_.empty()) {
            PLIMSOLL_CHECK(read_all(limit));
        }
        arguments[i] = path_;
    }
    return {};
}

Result<void> StandardInput::read_all(Bytes limit) {
    memory_ = Fd(::memfd_create("standard input", MFD_CLOEXEC));
    if (memory_.get() < 0) return failed("cannot keep standard input: {}", errno_text(errno));
    std::array<char, 1 << 16> block{};
    Bytes size = 0;
    while (true) {
        const ssize_t n = ::read(STDIN_FILENO, block.data(), block.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return bad_input("cannot read standard input: {}", errno_text(errno));
        if (n == 0) break;
        size += n;
        if (size > limit) {
            return bad_input("standard input holds more than {}; write it to a file and name the file",
                             format_bytes(limit));
        }
        for (ssize_t done = 0; done < n;) {
            const ssize_t written = ::write(memory_.get(), block.data() + done, static_cast<std::size_t>(n - done));
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return failed("cannot keep standard input: {}", errno_text(errno));
            done += written;
        }
    }
    path_ = fmt::format("{}{}", descriptors, memory_.get());
    return {};
}

std::string StandardInput::named(std::string sentence) const {
    if (path_.empty()) return sentence;
    for (std::size_t at = 0; (at = sentence.find(path_, at)) != std::string::npos;) {
        sentence.replace(at, path_.size(), "standard input");
    }
    return sentence;
}

std::string shown_name(const std::string& argument) {
    return argument.starts_with(descriptors) ? "standard input" : argument;
}

}  // namespace plimsoll::cli
