// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/interop/model_files/gguf_model.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::InputFile input(data, size);
    const auto file = read_gguf(input.path());
    fuzz::expect_sentence_or_result(file);
    if (file) fuzz::expect_sentence_or_result(model_from_gguf(*file, "input"));
    return 0;
}
