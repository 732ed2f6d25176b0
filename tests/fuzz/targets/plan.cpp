// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/base/json.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto json = parse_json(fuzz::text_of(data, size), "input");
    if (!json) return 0;
    const auto loaded = plan_from_json(*json, "input");
    fuzz::expect_sentence_or_result(loaded);
    if (!loaded) return 0;
    for (const Problem& problem : check_plan(loaded->plan)) fuzz::expect_sentence({problem.sentence});
    const auto again = plan_from_json(to_json(loaded->plan), "again");
    if (!again || !(again->plan == loaded->plan)) std::abort();
    return 0;
}
