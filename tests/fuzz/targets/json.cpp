// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/base/json.h"
#include "core/base/printable.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto json = parse_json(fuzz::text_of(data, size), "input");
    fuzz::expect_sentence_or_result(json);
    // What is read is written again as it was.
    if (json && parse_json(json->dump(), "again").value() != *json) std::abort();
    if (!valid_utf8(printable(fuzz::text_of(data, size)))) std::abort();
    return 0;
}
