// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/checkpoint/stored_checkpoint.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::InputFile input(data, size);
    const auto checkpoint = open_checkpoint(input.path());
    fuzz::expect_sentence_or_result(checkpoint);
    if (!checkpoint) return 0;
    for (const StoredTensor& tensor : checkpoint->weights) {
        if (tensor.bytes() > size) continue;
        std::string values(tensor.bytes(), 0);
        fuzz::expect_sentence_or_result(read_values(tensor, values.data()));
    }
    return 0;
}
