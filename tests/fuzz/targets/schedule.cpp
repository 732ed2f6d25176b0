// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/base/json.h"
#include "core/schedule/plan_pipeline/schedule_file.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto json = parse_json(fuzz::text_of(data, size), "input");
    if (!json) return 0;
    const auto schedule = schedule_from_json(*json, "input");
    fuzz::expect_sentence_or_result(schedule);
    if (schedule && !parse_json(schedule_text(*schedule), "again")) std::abort();
    return 0;
}
