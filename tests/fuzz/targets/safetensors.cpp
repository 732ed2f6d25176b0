// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/base/file_io.h"
#include "core/checkpoint/safetensors_header.h"
#include "core/interop/model_files/safetensors_counts.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::InputFile input(data, size);
    const auto file = FileReader::open(input.path());
    if (file) fuzz::expect_sentence_or_result(read_safetensors_header(*file, "input"));
    fuzz::expect_sentence_or_result(parse_safetensors_header(fuzz::text_of(data, size), 1000, "input"));
    return 0;
}
