// SPDX-License-Identifier: Apache-2.0
// What all fuzz targets share. A target is one file with one function; its seeds lie in tests/fuzz/seeds/NAME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/base/fd.h"
#include "core/base/result.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace plimsoll::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// The input as a regular file without a name, for readers that take a path.
class InputFile {
public:
    InputFile(const std::uint8_t* data, std::size_t size);
    const std::filesystem::path& path() const { return path_; }

private:
    Fd memory_;
    std::filesystem::path path_;
};

/// Ends the program unless the error is a sentence for a person: not empty, bounded, valid UTF-8.
void expect_sentence(const Error& error);

template <class T>
void expect_sentence_or_result(const Result<T>& result) {
    if (!result) expect_sentence(result.error());
}

}  // namespace plimsoll::fuzz
