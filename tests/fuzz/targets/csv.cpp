// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/validation/csv.h"
#include "core/validation/peak_row.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto table = read_csv(fuzz::text_of(data, size));
    fuzz::expect_sentence_or_result(table);
    if (table) fuzz::expect_sentence_or_result(read_peak_rows(*table));
    return 0;
}
