// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/checkpoint/pickle.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto pickle = Pickle::parse(std::string(fuzz::text_of(data, size)), "input");
    fuzz::expect_sentence_or_result(pickle);
    if (!pickle) return 0;
    const auto entries = pickle->entries(pickle->root());
    for (std::size_t i = 0; i < entries.size(); ++i) (void)pickle->integers(entries[i]);
    return 0;
}
